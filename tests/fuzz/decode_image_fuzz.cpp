// Any bytes are an image of the announced size or one Error; nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/image/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const qtool::Image image = qtool::decode_image(bytes, "fuzz");
    if (image.pixels.size() != static_cast<std::size_t>(image.width * image.height * 3)) {
      std::abort();
    }
  } catch (const qtool::Error& error) {
    if (error.code() != qtool::ErrorCode::kInvalidImage) std::abort();
  }
  return 0;
}
