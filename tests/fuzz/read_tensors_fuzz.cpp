// Reading any bytes gives the samples of an array file or of a list, or an Error. The first byte
// says how the file is read (bit 6: as audio, with the window and the hop in the bits below), the
// second byte selects the input of the network. The file is in memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "memory_file.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"

namespace {

namespace fs = std::filesystem;
using qtool::DType;
using qtool::InputSpec;

constexpr std::array<const char*, 5> kKinds = {"npy", "npz", "pb", "raw", "jsonl"};
constexpr std::array<DType, 4> kTypes = {DType::kFloat32, DType::kInt64, DType::kUInt8,
                                         DType::kBool};

// Shapes of every kind: scalar, a sequence, fixed, with a batch that is open or fixed, unknown, and
// with more elements than a tensor can have.
InputSpec spec_of(std::uint8_t byte) {
  using Extents = std::vector<std::optional<std::int64_t>>;
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  static const std::array<std::optional<Extents>, 9> shapes = {
      {Extents{}, Extents{std::nullopt}, Extents{2, 3}, Extents{1, 2, 3}, Extents{std::nullopt, 3},
       Extents{1, std::nullopt, 2, 2, 1}, std::nullopt, Extents{std::nullopt, kMost},
       Extents{kMost / 2, kMost, 0}}};
  return {"x", kTypes[byte % 4], shapes[byte / 4 % shapes.size()]};
}

// A link for each kind of file, because the ending of a name says the kind.
class Links {
 public:
  Links() : folder_(fs::temp_directory_path() / ("qtool_fuzz_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::error_code ec;
    for (const char* kind : kKinds) fs::create_symlink(file_.path(), link(kind), ec);
    fs::create_symlink(file_.path(), link("wav"), ec);
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  ~Links() {
    std::error_code ec;
    fs::remove_all(folder_, ec);
  }
  [[nodiscard]] fs::path link(const std::string& kind) const { return folder_ / ("x." + kind); }
  [[nodiscard]] const qtool::MemoryFile& file() const { return file_; }

 private:
  qtool::MemoryFile file_;
  fs::path folder_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Links links;
  if (size < 2) return 0;
  links.file().write(data + 2, size - 2);
  const bool sound = (data[0] & 64U) != 0;
  const std::string kind = sound ? "wav" : kKinds[data[0] % kKinds.size()];
  qtool::TensorReading reading;
  if (sound) reading.audio = {data[0] % 8, data[0] / 8 % 4};
  std::vector<InputSpec> inputs = {spec_of(data[1])};
  if (data[0] >= 128) inputs.push_back({"y", DType::kInt64, std::nullopt});
  try {
    const qtool::TensorSet set = qtool::list_tensors(links.link(kind), inputs, 0, reading);
    static_cast<void>(qtool::hash_of(set));
    // Loads the last, the first and the middle entry, so that the order also goes backwards.
    const std::size_t count = set.entries.size();
    for (const std::size_t i : {count - 1, std::size_t{0}, count / 2}) {
      const std::vector<qtool::Tensor> tensors = qtool::load_tensors(set, set.entries.at(i));
      if (tensors.size() != inputs.size()) std::abort();
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (tensors[k].dtype() != inputs[k].dtype) std::abort();
        if (!qtool::accepts(inputs[k], tensors[k].shape().dims())) std::abort();
      }
    }
  } catch (const qtool::Error& error) {
    // A corrupt file must not be reported as an invalid model or table.
    if (error.code() == qtool::ErrorCode::kInvalidModel ||
        error.code() == qtool::ErrorCode::kInvalidTable) {
      std::abort();
    }
  }
  return 0;
}
