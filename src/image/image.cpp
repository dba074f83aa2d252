#include "qtool/image/image.h"

#include "image/header.h"
#include "qtool/base/error.h"
#include "qtool/base/file.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

Image decode(std::string_view bytes) {
  if (bytes.empty()) fail_image("is empty");
  const std::string_view magic = bytes.substr(0, 2);
  if (magic == "P2" || magic == "P3" || magic == "P5" || magic == "P6") return decode_pnm(bytes);
  ImageHeader header;
  if (magic == "\xFF\xD8") {
    header = read_jpeg_header(bytes);
  } else if (bytes.starts_with("\x89PNG\r\n\x1A\n")) {
    header = read_png_header(bytes);
  } else if (magic == "BM") {
    header = read_bmp_header(bytes);
  } else {
    fail_image("is not a JPEG, PNG, BMP or PNM (P2, P3, P5, P6) file");
  }
  return apply_orientation(decode_with_stb(bytes, header), header.orientation);
}

}  // namespace

void fail_image(std::string_view what) { throw Error(ErrorCode::kInvalidImage, std::string(what)); }

void fail_truncated() { fail_image("ends early: the file is cut off"); }

void check_image_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) fail_image("has no pixels");
  if (width > kMostImageSide || height > kMostImageSide || width * height * 3 > kMostImageBytes) {
    fail_image(concat("has ", width, "x", height, " pixels, at most ", kMostImageSide,
                      " a side and ", kMostImageBytes / 3, " in all are accepted"));
  }
}

std::uint32_t read_number(std::string_view bytes, std::size_t at, std::size_t count,
                          ByteOrder order) {
  if (at > bytes.size() || count > bytes.size() - at) fail_truncated();
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = order == ByteOrder::kBig ? i : count - 1 - i;
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + from]);
  }
  return value;
}

Image decode_image(std::string_view bytes, std::string_view name) {
  try {
    return decode(bytes);
  } catch (const Error& error) {
    throw Error(error.code(), concat("image '", name, "' ", error.what()));
  }
}

Image load_image(const std::filesystem::path& path) {
  return decode_image(read_file(path, kMostImageBytes), path.string());
}

}  // namespace qtool
