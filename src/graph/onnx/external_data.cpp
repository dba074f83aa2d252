#include "graph/onnx/external_data.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/path_inside.h"
#include "base/round_up.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

// The limit for all external data of a model together. Many tensors may read the same file, so the
// size of the file does not limit the memory that a model can ask for.
constexpr std::int64_t kMaxExternalBytes = std::int64_t{8} << 30;

constexpr std::int64_t kPage = 4096;

void add_entry(onnx::TensorProto& tensor, const char* key, std::string value) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(std::move(value));
}

[[noreturn]] void refuse_data(std::string_view what, std::string_view message,
                              ErrorCode code = ErrorCode::kInvalidModel) {
  throw Error(code, to_text(what, ": external data", message));
}

}  // namespace

Tensor ExternalDataReader::read(const onnx::TensorProto& proto, std::string_view what, DType dtype,
                                Shape shape) {
  const std::int64_t bytes = shape.elements() * size_of(dtype);
  bytes_ += bytes;
  if (bytes_ > kMaxExternalBytes) {
    refuse_data(what, to_text(" exceed ", kMaxExternalBytes, " bytes, the most qtool reads"));
  }
  std::string location;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    try {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset") offset = parse_int(entry.value(), "offset");
      if (entry.key() == "length") length = parse_int(entry.value(), "length");
    } catch (const Error& error) {
      refuse_data(what, to_text(": ", error.what()));
    }
  }
  if (location.empty()) refuse_data(what, " name no file");
  if (offset < 0 || (length && *length != bytes)) {
    refuse_data(what, to_text(": found ", length.value_or(bytes), " bytes at offset ", offset,
                              ", expected ", bytes, " for shape ", shape.to_string(), " of ",
                              name_of(dtype)));
  }
  return memory_ ? read_from_memory(location, offset, what, dtype, std::move(shape))
                 : read_from_file(location, offset, what, dtype, std::move(shape));
}

Tensor ExternalDataReader::read_from_file(const std::string& location, std::int64_t offset,
                                          std::string_view what, DType dtype, Shape shape) {
  const std::int64_t bytes = shape.elements() * size_of(dtype);
  std::filesystem::path path;
  try {
    path = resolve_inside(folder_, location);
  } catch (const Error& error) {
    refuse_data(what, to_text(": ", error.what()));
  }
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) {
    refuse_data(what, to_text(": file '", path.string(), "' does not exist or is not a file"),
                ErrorCode::kIo);
  }
  const std::uintmax_t size = std::filesystem::file_size(path, ec);
  if (ec || size > static_cast<std::uintmax_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse_data(what, to_text(": file '", path.string(), "' has no size"), ErrorCode::kIo);
  }
  const auto available = static_cast<std::int64_t>(size);
  std::ifstream in(path, std::ios::binary);
  if (offset > available || bytes > available - offset) {
    std::string head(static_cast<std::size_t>(std::min<std::int64_t>(available, 256)), '\0');
    in.read(head.data(), std::ssize(head));
    const std::string_view found = recognise_foreign_file(head);
    refuse_data(
        what, to_text(": file '", path.string(), "' ", found, found.empty() ? "" : "; it ", "has ",
                      available, " bytes, expected ", bytes, " at offset ", offset));
  }
  in.seekg(offset);
  Tensor out(dtype, std::move(shape));
  if (bytes > 0) in.read(reinterpret_cast<char*>(out.data()), bytes);
  if (!in) {
    refuse_data(what, to_text(": file '", path.string(), "' cannot be read"), ErrorCode::kIo);
  }
  files_.insert(std::move(path));
  return out;
}

Tensor ExternalDataReader::read_from_memory(const std::string& location, std::int64_t offset,
                                            std::string_view what, DType dtype, Shape shape) const {
  const std::int64_t bytes = shape.elements() * size_of(dtype);
  const std::int64_t available = std::ssize(memory_->data);
  if (location != memory_->name) {
    refuse_data(what, to_text(": found file '", location, "', expected '", memory_->name, "'"));
  }
  if (offset > available || bytes > available - offset) {
    refuse_data(what, to_text(": file '", location, "' has ", available, " bytes, expected ", bytes,
                              " at offset ", offset));
  }
  Tensor out(dtype, std::move(shape));
  if (bytes > 0)
    std::memcpy(out.data(), memory_->data.data() + offset, static_cast<std::size_t>(bytes));
  return out;
}

std::int64_t DataLayout::place(std::int64_t bytes) {
  const std::int64_t at = ceil_div(size_, kPage) * kPage;
  size_ = at + bytes;
  return at;
}

void DataFile::take(onnx::TensorProto& tensor) {
  const auto bytes = static_cast<std::int64_t>(tensor.raw_data().size());
  if (bytes < kMinDataBytes) return;
  const std::int64_t at = layout_.place(bytes);
  bytes_.resize(static_cast<std::size_t>(at));
  bytes_ += tensor.raw_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  add_entry(tensor, "location", name_);
  add_entry(tensor, "offset", std::to_string(at));
  add_entry(tensor, "length", std::to_string(bytes));
}

}  // namespace qtool
