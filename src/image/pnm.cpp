#include "base/text.h"
#include "image/image_header.h"

namespace qtool {
namespace {

// Reads the numbers of a PNM header or text body; white space and comments separate them.
class PnmReader {
 public:
  explicit PnmReader(std::string_view bytes) : bytes_(bytes), at_(2) {}

  std::uint32_t number() {
    constexpr std::uint32_t kMax = 65535;
    skip_space();
    if (at_ == bytes_.size()) fail_truncated();
    std::uint32_t value = 0;
    const std::size_t first = at_;
    for (; at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9'; ++at_) {
      value = value * 10 + static_cast<std::uint32_t>(bytes_[at_] - '0');
      if (value > kMax) fail_image(to_text("has a PNM number above ", kMax));
    }
    if (at_ == first) fail_image("has something else where PNM expects a number");
    return value;
  }

  /// The bytes behind the single white space that ends a binary header.
  [[nodiscard]] std::string_view body() const {
    if (at_ == bytes_.size()) fail_truncated();
    return bytes_.substr(at_ + 1);
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  void skip_space() {
    for (bool comment = false; at_ < bytes_.size(); ++at_) {
      const char c = bytes_[at_];
      if (c == '#') comment = true;
      if (c == '\n' || c == '\r') comment = false;
      const bool space = c == ' ' || (c >= '\t' && c <= '\r');
      if (!comment && !space) return;
    }
  }

  std::string_view bytes_;
  std::size_t at_;
};

}  // namespace

ImageSize read_pnm_size(std::string_view bytes) {
  PnmReader reader(bytes);
  const std::int64_t width = reader.number();
  return {width, reader.number()};
}

Image decode_pnm(std::string_view bytes) {
  const bool text = bytes[1] == '2' || bytes[1] == '3';
  const std::size_t channels = bytes[1] == '3' || bytes[1] == '6' ? 3 : 1;
  PnmReader reader(bytes);
  Image image;
  image.width = reader.number();
  image.height = reader.number();
  check_image_size(image.width, image.height);
  const std::uint32_t most = reader.number();
  if (most == 0) fail_image("has a PNM sample limit of 0, expected 1 to 65535");

  const std::size_t pixels = static_cast<std::size_t>(image.width * image.height);
  const std::size_t samples = pixels * channels;
  const std::size_t sample_bytes = most > 255 ? 2 : 1;
  const std::string_view body = text ? std::string_view() : reader.body();
  // A sample of a text body is at least one digit behind one blank.
  if (text ? reader.left() < 2 * samples : body.size() < samples * sample_bytes) fail_truncated();
  image.pixels.resize(pixels * 3);
  std::uint8_t* out = image.pixels.data();
  for (std::size_t i = 0; i < samples; ++i) {
    std::uint32_t value = 0;
    if (text) {
      value = reader.number();
    } else {
      value = static_cast<std::uint8_t>(body[i * sample_bytes]);
      if (sample_bytes == 2) value = value << 8 | static_cast<std::uint8_t>(body[2 * i + 1]);
    }
    if (most != 255) value = value >= most ? 255 : (510 * value + most) / (2 * most);
    const auto byte = static_cast<std::uint8_t>(value < 255 ? value : 255);
    for (std::size_t copy = 0; copy < 3 / channels; ++copy) *out++ = byte;
  }
  return image;
}

}  // namespace qtool
