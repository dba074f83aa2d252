// Mutates array files so that they remain array files, with extents of every magnitude. Files that
// are refused because of their headers would not test the code that reads the rest.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "model_parts.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace qtool::fuzz {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::size_t kMaxBody = 256;

// Random extents, mostly of few elements so that a file can hold them.
Extents random_extents(Random& random) {
  Extents extents;
  for (std::int64_t axis = random.between(0, 4); axis > 0; --axis) {
    extents.push_back(random.one_in(4) ? random_extent(random) : random.between(0, 3));
  }
  return extents;
}

// Random data. It has the number of bytes that the extents need if that is small enough, and
// sometimes another number.
std::string body_of(Random& random, const Extents& extents, std::int64_t size) {
  std::int64_t bytes = size;
  for (const std::int64_t extent : extents) {
    const bool fits = extent >= 0 && (extent == 0 || bytes <= std::int64_t{kMaxBody} / extent);
    bytes = fits ? bytes * extent : static_cast<std::int64_t>(random.below(kMaxBody));
  }
  if (random.one_in(8)) bytes = static_cast<std::int64_t>(random.below(kMaxBody));
  std::string body(static_cast<std::size_t>(bytes), '\0');
  for (char& byte : body) byte = static_cast<char>(random.below(256));
  return body;
}

std::string npy_of(Random& random) {
  static constexpr std::array kTypes = {"<f4", "<f8", "<i8", "|u1", "|b1", ">f4", "<i4", "<f2"};
  static constexpr std::array<std::int64_t, 8> kSizes = {4, 8, 8, 1, 1, 4, 4, 2};
  const std::size_t type = random.below(kTypes.size());
  const Extents extents = random_extents(random);
  std::string shape;
  for (const std::int64_t extent : extents) shape += std::to_string(extent) + ", ";
  std::string header = std::string("{'descr': '") + kTypes[type] +
                       "', 'fortran_order': " + (random.one_in(4) ? "True" : "False") +
                       ", 'shape': (" + shape + "), }\n";
  header.insert(header.size() - 1, (118 - header.size() % 64) % 64, ' ');
  const auto length = static_cast<std::uint16_t>(header.size());
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(length & 255U) +
         static_cast<char>(length >> 8U) + header + body_of(random, extents, kSizes[type]);
}

void append(std::string& bytes, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>(number & 255U);
    number >>= 8;
  }
}

std::string deflated(const std::string& bytes) {
  ::z_stream stream = {};
  std::string out(bytes.size() + 64, '\0');
  if (::deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// A ZIP file of one or two arrays. One size or offset in sixteen is replaced by any number.
std::string npz_of(Random& random) {
  std::string file;
  std::string directory;
  const int entries = random.one_in(3) ? 2 : 1;
  for (int i = 0; i < entries; ++i) {
    const std::string array = npy_of(random);
    const bool packed = random.one_in(2);
    const std::string stored = packed ? deflated(array) : array;
    const std::string name = i == 0 ? "x.npy" : "y.npy";
    const auto size_or_any = [&](std::size_t size) {
      return random.one_in(16) ? static_cast<std::uint64_t>(random_extent(random)) : size;
    };
    std::string common;
    append(common, 20, 2);              // version
    append(common, 0, 2);               // flags
    append(common, packed ? 8 : 0, 2);  // method
    append(common, 0x21, 4);            // time
    append(
        common,
        ::crc32(0, reinterpret_cast<const Bytef*>(array.data()), static_cast<uInt>(array.size())),
        4);
    append(common, size_or_any(stored.size()), 4);
    append(common, size_or_any(array.size()), 4);
    append(common, name.size(), 2);
    append(common, 0, 2);  // extra field
    const std::size_t offset = file.size();
    file += "PK\x03\x04" + common + name + stored;
    directory += "PK\x01\x02";
    append(directory, 20, 2);
    directory += common;
    append(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    append(directory, size_or_any(offset), 4);
    directory += name;
  }
  const std::size_t offset = file.size();
  file += directory + "PK\x05\x06";
  append(file, 0, 4);
  append(file, static_cast<std::uint64_t>(entries), 2);
  append(file, static_cast<std::uint64_t>(entries), 2);
  append(file, directory.size(), 4);
  append(file, offset, 4);
  append(file, 0, 2);
  return file;
}

std::string proto_of(Random& random, const std::uint8_t* data, std::size_t size) {
  onnx::TensorProto tensor;
  const bool known = tensor.ParseFromArray(data, static_cast<int>(size));
  if (!known || random.one_in(2)) {
    random_tensor(random, tensor);
    tensor.set_name("x");
  }
  for (std::int64_t& extent : *tensor.mutable_dims()) {
    if (random.one_in(4)) extent = random_extent(random);
  }
  if (random.one_in(8)) tensor.add_dims(random_extent(random));
  if (random.one_in(8)) tensor.set_data_type(random_type(random));
  return tensor.SerializeAsString();
}

}  // namespace
}  // namespace qtool::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  qtool::fuzz::Random random(seed);
  if (size < 2 || random.one_in(2)) return LLVMFuzzerMutate(data, size, max_size);
  // The first two bytes say how the file is read and which input reads it, see
  // read_tensors_fuzz.cpp.
  if (random.one_in(4)) data[0] = static_cast<std::uint8_t>(random.below(256));
  if (random.one_in(4)) data[1] = static_cast<std::uint8_t>(random.below(256));
  std::string made;
  switch (data[0] % 5) {
    case 0:
      made = qtool::fuzz::npy_of(random);
      break;
    case 1:
      made = qtool::fuzz::npz_of(random);
      break;
    case 2:
      made = qtool::fuzz::proto_of(random, data + 2, size - 2);
      break;
    default:
      return LLVMFuzzerMutate(data, size, max_size);
  }
  if (made.size() + 2 > max_size) return size;
  std::copy(made.begin(), made.end(), data + 2);
  return made.size() + 2;
}
