#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace qtool {

/// How the first output of a network becomes a class for each pixel.
struct MaskRule {
  /// Of an output with one channel: pixels from this value on are class 1, the others class 0.
  /// None: the class is the channel with the highest value, of equal ones the lowest channel.
  std::optional<double> threshold{};
};

/// The class of each pixel of one image.
struct Mask {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::int32_t> labels;  ///< row by row; -1 where the network says no number
};

/// The pixels of one class, over all images.
struct ClassPixels {
  std::int64_t label = 0;
  std::int64_t fp32 = 0;
  std::int64_t int8 = 0;
  std::int64_t both = 0;

  /// Intersection over union of the two models' pixels.
  [[nodiscard]] double iou() const;
};

/// How far the INT8 model's classes of pixels are those of the FP32 model.
struct MaskAgreement {
  std::int64_t images = 0;
  std::int64_t pixels = 0;
  std::int64_t equal = 0;            ///< pixels of the same class
  std::vector<ClassPixels> classes;  ///< that a model found in any image, ascending

  /// Mean over `classes`; nothing where there is none.
  [[nodiscard]] std::optional<double> mean_iou() const;
};

}  // namespace qtool
