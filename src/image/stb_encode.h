#pragma once

#include <string>

#include "qtool/image/image.h"

namespace qtool {

/// The image as a JPEG file of quality 80: a small picture for people. Throws as encode_png().
/// Source: stb_image_write.
std::string encode_jpeg(const Image& image);

}  // namespace qtool
