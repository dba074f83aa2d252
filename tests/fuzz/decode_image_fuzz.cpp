// Decoding any bytes gives an image of the announced size or an Error; nothing else may happen.
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
    const auto pixels = static_cast<std::size_t>(image.width * image.height);
    if (image.pixels.size() != 3 * pixels || !image.alpha.empty()) std::abort();
    // Keeping alpha changes no colour. Decoding with alpha may be refused, because it takes more
    // memory.
    const qtool::Image kept = qtool::decode_image(bytes, "fuzz", qtool::Alpha::kKeep);
    if (kept.pixels != image.pixels) std::abort();
    if (!kept.alpha.empty() && kept.alpha.size() != pixels) std::abort();
  } catch (const qtool::Error& error) {
    if (error.code() != qtool::ErrorCode::kInvalidImage) std::abort();
  }
  return 0;
}
