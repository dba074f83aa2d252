// The only file that uses stb_image_write.
#include "image/stb_encode.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "image/image_header.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#define STBIW_ASSERT(condition) static_cast<void>(0)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <stb_image_write.h>
#pragma GCC diagnostic pop

namespace qtool {
namespace {

void append(void* text, void* data, int size) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(data),
                                          static_cast<std::size_t>(size));
}

/// Refuses an image that is too large for the encoder. `kind`: the kind of file, for the message.
void check_size(const Image& image, std::string_view kind) {
  check_image(image);
  if (image.pixels.size() > std::size_t{1} << 30) {
    throw Error(ErrorCode::kUnsupported,
                to_text("an image of ", image.width, "x", image.height,
                        " pixels is too large for a ", kind, " file, expected at most 2^30 bytes"));
  }
}

[[noreturn]] void refuse_memory(const Image& image) {
  throw Error(ErrorCode::kUnsupported, to_text("an image of ", image.width, "x", image.height,
                                               " pixels takes more memory than there is"));
}

}  // namespace

std::string encode_png(const Image& image) {
  check_size(image, "PNG");
  const auto width = static_cast<int>(image.width);
  std::string bytes;
  if (stbi_write_png_to_func(append, &bytes, width, static_cast<int>(image.height), 3,
                             image.pixels.data(), 3 * width) == 0) {
    refuse_memory(image);
  }
  return bytes;
}

std::string encode_jpeg(const Image& image) {
  constexpr int kQuality = 80;
  check_size(image, "JPEG");
  std::string bytes;
  if (stbi_write_jpg_to_func(append, &bytes, static_cast<int>(image.width),
                             static_cast<int>(image.height), 3, image.pixels.data(),
                             kQuality) == 0) {
    refuse_memory(image);
  }
  return bytes;
}

}  // namespace qtool
