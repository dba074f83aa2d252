// Any bytes are a list of images or of classes, or one Error. The first byte says how the list is
// read; the file stands in memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/image/image_set.h"

namespace {

// A file of the process that nobody else sees, by its name under /proc.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("list", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
  }
  void write(const std::uint8_t* data, std::size_t size) const {
    const bool written = ::ftruncate(descriptor_, 0) == 0 &&
                         ::pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size);
    if (!written) std::abort();
  }
  [[nodiscard]] std::filesystem::path path() const {
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  if (size == 0) return 0;
  const std::uint8_t kind = data[0];
  file.write(data + 1, size - 1);
  try {
    std::vector<std::string> labels;
    if ((kind & 1U) != 0) labels = qtool::read_labels(file.path());
    if ((kind & 2U) != 0) labels = {"cat", "n02123045 tabby", "7"};
    if ((kind & 3U) != 1U) {
      const qtool::ImageSet set = qtool::list_images(file.path(), labels, kind / 4);
      static_cast<void>(qtool::hash_of(set));
    }
  } catch (const qtool::Error& error) {
    const bool expected =
        error.code() == qtool::ErrorCode::kUsage || error.code() == qtool::ErrorCode::kIo;
    if (!expected) std::abort();
  }
  return 0;
}
