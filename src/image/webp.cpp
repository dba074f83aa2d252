// The only file that uses libwebp.
#include <webp/decode.h>

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "image/image_header.h"

namespace qtool {
namespace {

const std::uint8_t* data_of(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

[[noreturn]] void fail_with(VP8StatusCode status) {
  if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED) fail_truncated();
  if (status == VP8_STATUS_OUT_OF_MEMORY) fail_image("takes more memory than there is");
  fail_image("is a corrupt WebP");
}

// The properties in the chunks of a file besides the size of the image.
struct WebpChunks {
  bool lossless = false;  // the pixels, or their alpha, are coded without loss
  int orientation = 1;
};

WebpChunks read_chunks(std::string_view bytes) {
  constexpr std::size_t kRiff = 12;
  constexpr std::size_t kChunk = 8;
  const std::size_t riff = read_number(bytes, 4, 4, ByteOrder::kLittle);
  if (riff > bytes.size() - kChunk) fail_truncated();
  const std::string_view file = bytes.substr(0, kChunk + riff);
  WebpChunks chunks;
  for (std::size_t at = kRiff; at < file.size();) {
    const std::size_t size = read_number(file, at + 4, 4, ByteOrder::kLittle);
    if (size > file.size() - at - kChunk) fail_truncated();
    const std::string_view type = file.substr(at, 4);
    std::string_view data = file.substr(at + kChunk, size);
    if (type == "VP8L" || type == "ALPH") chunks.lossless = true;
    if (type == "EXIF") {
      // Some writers put the marker of JPEG files before it.
      constexpr std::string_view kTag("Exif\0\0", 6);
      if (data.starts_with(kTag)) data.remove_prefix(kTag.size());
      chunks.orientation = exif_orientation(data);
    }
    at += kChunk + size + size % 2;  // chunks begin at even positions
  }
  return chunks;
}

// The most memory that the decoder uses besides the image. Lossy files are decoded by rows of
// blocks. Lossless files are completely in memory: 4 bytes per pixel, and one row of transforms for
// every four rows. They may have one set of Huffman tables (21 kB) for every 16 pixels; each set
// takes at least 20 bits in the file. Source: libwebp, src/dec/vp8l_dec.c.
std::int64_t webp_decoder_bytes(std::int64_t width, std::int64_t height, bool lossless,
                                std::size_t file_bytes) {
  constexpr std::int64_t kRows = 400;  // bytes for each pixel of a row
  constexpr std::int64_t kTables = std::int64_t{1} << 20;
  std::int64_t bytes = kRows * width + kTables;
  if (lossless) {
    constexpr std::int64_t kSet = 21 << 10;
    const std::int64_t pixels = width * height;
    const std::int64_t coded = static_cast<std::int64_t>(file_bytes) * 8 / 20;
    const std::int64_t sets = std::min({std::int64_t{65536}, pixels / 16 + 1, coded + 1});
    bytes += 6 * pixels + sets * kSet;
  }
  return bytes;
}

}  // namespace

bool is_webp(std::string_view bytes) {
  return bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP";
}

ImageHeader read_webp_header(std::string_view bytes) {
  const WebpChunks chunks = read_chunks(bytes);
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data_of(bytes), bytes.size(), &features);
  if (status != VP8_STATUS_OK) fail_with(status);
  if (features.has_animation != 0) fail_image("is an animated WebP, expected a single image");
  ImageHeader header;
  header.width = features.width;
  header.height = features.height;
  check_image_size(header.width, header.height);
  header.orientation = chunks.orientation;
  header.decoder_bytes =
      webp_decoder_bytes(header.width, header.height, chunks.lossless, bytes.size()) +
      3 * header.width * header.height;
  return header;
}

Image decode_webp(std::string_view bytes, const ImageHeader& header, Alpha alpha) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) fail_image("needs another version of libwebp");
  const std::int64_t channels = alpha == Alpha::kKeep ? 4 : 3;
  std::vector<std::uint8_t> pixels(
      static_cast<std::size_t>(channels * header.width * header.height));
  config.output.colorspace = alpha == Alpha::kKeep ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels.data();
  config.output.u.RGBA.size = pixels.size();
  config.output.u.RGBA.stride = static_cast<int>(channels * header.width);
  const VP8StatusCode status = WebPDecode(data_of(bytes), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) fail_with(status);
  return image_of(header.width, header.height, std::move(pixels), alpha);
}

}  // namespace qtool
