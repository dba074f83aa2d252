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

/// Pixels of a side that a resize or crop may ask for.
inline constexpr std::int64_t kMaxPreprocessSide = 16384;

/// How an image gets its size before the crop.
enum class ResizeMode : std::uint8_t {
  kNone,         ///< the size of the file
  kSquash,       ///< resize_width x resize_height, whatever that does to the proportions
  kShorterSide,  ///< shorter side = resize_shorter, longer = trunc(resize_shorter * long / short)
  kLetterbox,    ///< fitted into resize_width x resize_height, centred, the rest `fill`
};

/// Which channels the network gets; gray is (19595 R + 38470 G + 7471 B + 2^15) / 2^16, before the
/// resize. Alpha is a channel like the others, 255 where a file has none: colours are not
/// multiplied by it, neither before nor after the resize.
enum class ChannelOrder : std::uint8_t { kRgb, kBgr, kGray, kRgba, kBgra };

/// 1, 3 or 4.
std::int64_t channels_of(ChannelOrder order) noexcept;
/// What the decoder must keep for it.
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

/// What happens to an image before the network sees it: resize, centre crop, channel choice, then
/// x = (u8 - mean) / std.
struct Preprocess {
  ResizeMode resize = ResizeMode::kNone;
  std::int64_t resize_width = 0;    ///< pixels; squash and letterbox
  std::int64_t resize_height = 0;   ///< pixels; squash and letterbox
  std::int64_t resize_shorter = 0;  ///< pixels; shorter side
  std::int64_t crop_width = 0;      ///< pixels of the centre crop, 0 = no crop
  std::int64_t crop_height = 0;     ///< pixels; 0 exactly when crop_width is
  std::uint8_t fill = 114;          ///< letterbox border, every channel, before mean and std
  ChannelOrder channels = ChannelOrder::kRgb;
  TensorLayout layout = TensorLayout::kNchw;
  std::vector<float> mean = {0.0F};  ///< pixel units (0 to 255), 1 entry or 1 per channel as fed
  std::vector<float> std = {1.0F};   ///< pixel units, 1 entry or 1 per channel as fed

  /// Equal in effect: sizes that the mode ignores are not compared; one mean equals three of the
  /// same.
  friend bool operator==(const Preprocess& a, const Preprocess& b);
};

/// The parts of a preprocessing, in the order of execution; the resize includes the letterbox's
/// fill.
enum class PreprocessField : std::uint8_t { kResize, kCrop, kChannels, kLayout, kMean, kStd };

/// Every field, in order.
std::span<const PreprocessField> preprocess_fields() noexcept;
/// `resize crop channels layout mean std`.
std::string_view name_of(PreprocessField field) noexcept;
/// One field for people: `letterbox 640x640 fill 114`, `none`, `224x224`, `rgb`,
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
/// like units of [0, 1], or a std that looks like a factor.
std::optional<std::string> doubtful(const Preprocess& preprocess);

/// [1, C, H, W] or [1, H, W, C] of what a width x height image becomes. Throws
/// Error(kInvalidImage) when the image is smaller than the crop or would grow beyond 2^26 pixels.
Shape output_shape(const Preprocess& preprocess, std::int64_t width, std::int64_t height);

/// Where the network's input lies in an image: x of the image = (x of the input + x_offset) *
/// x_scale.
struct InputPlacement {
  std::int64_t input_width = 0;
  std::int64_t input_height = 0;
  std::int64_t x_offset = 0;
  std::int64_t y_offset = 0;
  double x_scale = 1.0;
  double y_scale = 1.0;
};

/// The placement for a width x height image. Throws as output_shape().
InputPlacement placement_of(const Preprocess& preprocess, std::int64_t width, std::int64_t height);

/// Writes the preprocessed image to `out`, which has the elements of output_shape().
/// The resize is an antialiased triangle filter: its support grows with the reduction, weights are
/// rounded to 22 bits, columns before rows, 8 bits in between; bit-identical to Pillow's BILINEAR.
/// A crop computes only what it keeps; its offset is half the surplus, a half rounded to even.
/// Throws Error(kInvalidImage) as output_shape(), Error(kInvalidArgument) when `image` or `out` has
/// the wrong number of elements, Error(kUsage) as check().
/// Cost: O(pixels read * (2 + reduction)); 299x299 to 224x224 takes about 0.8 ms, of which the
/// resize 0.7. Source: Pillow, src/libImaging/Resample.c; torchvision (shorter side, centre crop);
/// Ultralytics letterbox. Differs from source: the letterbox resize is antialiased, because the
/// others are.
void apply(const Image& image, const Preprocess& preprocess, std::span<float> out);

/// apply() into a new float32 tensor of output_shape().
Tensor preprocess_image(const Image& image, const Preprocess& preprocess);

/// A preprocessing as a JSON object in one line, for files, tables and model metadata:
/// {"resize": {"mode": "shorter", "size": 256}, "crop": {"width": 224, "height": 224},
///  "channels": "rgb", "layout": "nchw", "mean": [123.675, ...], "std": [58.395, ...]}.
/// Squash and letterbox have "width" and "height" instead of "size", letterbox also "fill".
std::string to_json_text(const Preprocess& preprocess);

/// Reads to_json_text()'s form; what is left out keeps its default. Throws Error(kUsage) naming the
/// field for an unknown or missing one, for a value outside its domain, and as check().
Preprocess preprocess_from_json(std::string_view text);

/// The same from a file of at most 64 KiB. Throws Error(kIo) naming the path when it cannot be
/// read.
Preprocess load_preprocess(const std::filesystem::path& path);

/// What happens when a file is not a usable image.
enum class BadImages : std::uint8_t {
  kSkip,  ///< it is left out and reported
  kFail,  ///< it ends the work
};

struct BadImage {
  std::filesystem::path path;
  std::string reason;  ///< one sentence that names the file
  friend bool operator==(const BadImage&, const BadImage&) = default;
};

/// Reads, decodes and preprocesses one image. If the file cannot be read, decoded or resized, it is
/// appended to `bad` and nothing is returned (kSkip), or its Error is thrown (kFail).
/// Each worker of calibrate() and evaluate() calls it for the next image of the list while other
/// workers run the network. A separate reader thread with a queue would only compete for the same
/// cores.
std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad);

}  // namespace qtool
