// Reading any bytes gives a list of images or of classes, or an Error. The first byte says how the
// list is read; the file is in memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "memory_file.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const qtool::MemoryFile file;
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
