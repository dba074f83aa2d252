#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/image/image.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The largest side in pixels that a resize or crop may ask for.
inline constexpr std::int64_t kMaxPreprocessSide = 16384;

/// How an image gets its size before the crop.
enum class ResizeMode : std::uint8_t {
  kNone,         ///< keeps the size of the file
  kSquash,       ///< resize_width x resize_height; the proportions may change
  kShorterSide,  ///< shorter side = resize_shorter, longer = trunc(resize_shorter * long / short)
  kLetterbox,    ///< fitted into resize_width x resize_height, centred, the rest `fill`
};

/// The channels that the network gets. Gray is (19595 R + 38470 G + 7471 B + 2^15) / 2^16, computed
/// before the resize. Alpha is a channel like the others, and 255 if a file has none. Colours are
/// not multiplied by it, neither before nor after the resize.
enum class ChannelOrder : std::uint8_t { kRgb, kBgr, kGray, kRgba, kBgra };

/// The number of channels: 1, 3 or 4.
std::int64_t channels_of(ChannelOrder order) noexcept;
/// Whether the decoder must keep alpha for this order.
Alpha alpha_of(ChannelOrder order) noexcept;

/// Order of the elements of the network's input.
enum class TensorLayout : std::uint8_t { kNchw, kNhwc };

/// The names used in files and options: `none squash shorter letterbox`, `rgb bgr gray
/// rgba bgra`, `nchw nhwc`.
std::string_view name_of(ResizeMode mode) noexcept;
std::string_view name_of(ChannelOrder order) noexcept;
std::string_view name_of(TensorLayout layout) noexcept;
/// The value of a name. Throws Error(kUsage) that lists the names.
ResizeMode resize_mode_of(std::string_view name);
ChannelOrder channel_order_of(std::string_view name);
TensorLayout tensor_layout_of(std::string_view name);

/// The steps from an image to the input of the network: resize, centre crop, channel choice, then x
/// = (u8 - mean) / std.
struct Preprocess {
  ResizeMode resize = ResizeMode::kNone;
  std::int64_t resize_width = 0;    ///< pixels; squash and letterbox
  std::int64_t resize_height = 0;   ///< pixels; squash and letterbox
  std::int64_t resize_shorter = 0;  ///< pixels; shorter side
  std::int64_t crop_width = 0;      ///< pixels of the centre crop, 0 = no crop
  std::int64_t crop_height = 0;     ///< pixels; 0 if and only if crop_width is 0
  std::uint8_t fill = 114;          ///< letterbox border, every channel, before mean and std
  ChannelOrder channels = ChannelOrder::kRgb;
  TensorLayout layout = TensorLayout::kNchw;
  /// In pixel units (0 to 255): one entry, or one per channel in the order of `channels`.
  std::vector<float> mean = {0.0F};
  /// In pixel units: one entry, or one per channel in the order of `channels`.
  std::vector<float> std = {1.0F};

  /// Whether both have the same effect. Sizes that the mode ignores are not compared. One mean
  /// equals three means of the same value.
  friend bool operator==(const Preprocess& a, const Preprocess& b);
};

/// The parts of a preprocessing, in the order of execution; the resize includes the letterbox's
/// fill.
enum class PreprocessField : std::uint8_t { kResize, kCrop, kChannels, kLayout, kMean, kStd };

/// Every field, in order.
std::span<const PreprocessField> preprocess_fields() noexcept;
/// `resize crop channels layout mean std`.
std::string_view name_of(PreprocessField field) noexcept;
/// One field as text for people: `letterbox 640x640 fill 114`, `none`, `224x224`, `rgb`,
/// `123.675,116.28,...`.
std::string text_of(const Preprocess& preprocess, PreprocessField field);
/// The fields in which two preprocessings differ in effect, in order.
std::vector<PreprocessField> differences(const Preprocess& a, const Preprocess& b);

/// A named preprocessing and one line about it.
struct PreprocessPreset {
  std::string_view name;
  std::string_view summary;
};

/// Every preset, sorted by name.
std::span<const PreprocessPreset> preprocess_presets();
std::vector<std::string> preset_names();

/// The preset of that name. Throws Error(kUsage) with the nearest names.
Preprocess preprocess_preset(std::string_view name);

/// Throws Error(kUsage) when a size that the mode needs is not in 1 to 16,384, a crop has one side
/// only, exceeds the resized image or follows a letterbox, a mean is not finite, a std is not
/// finite and positive, or their counts are neither 1 nor the number of channels.
void check(const Preprocess& preprocess);

/// A sentence about a preprocessing that is valid but probably a mistake: a mean or std that looks
/// like units of [0, 1], a std that looks like a factor, or a mean above 255.
std::optional<std::string> doubtful(const Preprocess& preprocess);

/// The shape [1, C, H, W] or [1, H, W, C] that a width x height image gets. Throws
/// Error(kInvalidImage) when the image is smaller than the crop or would grow beyond 2^26 pixels.
Shape output_shape(const Preprocess& preprocess, std::int64_t width, std::int64_t height);

/// The position of the network's input in an image.
struct InputPlacement {
  std::int64_t input_width = 0;
  std::int64_t input_height = 0;
  std::int64_t x_offset = 0;
  std::int64_t y_offset = 0;
  double x_scale = 1.0;
  double y_scale = 1.0;

  /// The place in the image, in pixels, of a place in the network's input.
  [[nodiscard]] double image_x(double input_x) const {
    return (input_x + static_cast<double>(x_offset)) * x_scale;
  }
  [[nodiscard]] double image_y(double input_y) const {
    return (input_y + static_cast<double>(y_offset)) * y_scale;
  }
};

/// The placement for a width x height image. Throws as output_shape().
InputPlacement placement_of(const Preprocess& preprocess, std::int64_t width, std::int64_t height);

/// Writes the preprocessed image to `out`, whose size must be the number of elements of
/// output_shape().
/// The resize is an antialiased triangle filter. Its support grows with the reduction, and its
/// weights are rounded to 22 bits. Columns are resized before rows, with 8 bits in between. The
/// result is bit-identical to Pillow's BILINEAR.
/// With a crop, only the kept pixels are computed. The offset of the crop is half the surplus, with
/// a half rounded to even.
/// Throws Error(kInvalidImage) as output_shape(), Error(kInvalidArgument) when `image` or `out` has
/// the wrong number of elements, Error(kUsage) as check().
/// Cost: O(pixels read * (2 + reduction)); 299x299 to 224x224 takes about 0.8 ms, including 0.7 ms
/// for the resize. Source: Pillow, src/libImaging/Resample.c; torchvision (shorter side, centre
/// crop); Ultralytics letterbox. Differs from source: the letterbox resize is antialiased like the
/// other resizes.
void apply(const Image& image, const Preprocess& preprocess, std::span<float> out);

/// apply() into a new float32 tensor of output_shape().
Tensor preprocess_image(const Image& image, const Preprocess& preprocess);

/// A preprocessing as a JSON object in one line, for files, tables and model metadata:
/// {"resize": {"mode": "shorter", "size": 256}, "crop": {"width": 224, "height": 224},
///  "channels": "rgb", "layout": "nchw", "mean": [123.675, ...], "std": [58.395, ...]}.
/// Squash and letterbox have "width" and "height" instead of "size", letterbox also "fill".
std::string to_json_text(const Preprocess& preprocess);

/// Reads the form that to_json_text() writes. Fields that are left out keep their defaults. Throws
/// Error(kUsage) that names the field if it is unknown or missing or its value is outside its
/// domain, and as check() does.
Preprocess preprocess_from_json(std::string_view text);

/// preprocess_from_json() for a file of at most 64 KiB. Throws Error(kIo) naming the path when it
/// cannot be read.
Preprocess load_preprocess(const std::filesystem::path& path);

/// The treatment of a file that is not a usable image.
enum class BadImages : std::uint8_t {
  kSkip,  ///< the file is left out and reported
  kFail,  ///< the work ends with an Error
};

struct BadImage {
  std::filesystem::path path;
  std::string reason;  ///< one sentence that names the file
  friend bool operator==(const BadImage&, const BadImage&) = default;
};

/// Reads, decodes and preprocesses one image. If the file cannot be read, decoded or resized, it is
/// appended to `bad` and nothing is returned (kSkip), or its Error is thrown (kFail).
/// Each worker of calibrate() and evaluate() calls this function for the next image of the list
/// while other workers run the network. A separate reader thread with a queue would only compete
/// for the same cores.
std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad);

}  // namespace qtool
