#pragma once

#include <cstdint>
#include <vector>

#include "ops/operator.h"

namespace qtool {

/// The attributes of a Resize node.
struct ResizeOptions {
  enum class Coordinates : std::uint8_t {
    kHalfPixel,
    kHalfPixelOrZero,  // PyTorch: a single output element reads position 0
    kHalfPixelUnshifted,
    kHalfPixelSymmetric,  // rounding the extent cuts off equal parts on both sides
    kAlignCorners,
    kAsymmetric,
    kCrop,  // tf_crop_and_resize: a region of interest becomes the output
  };
  enum class Nearest : std::uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
  enum class Interpolation : std::uint8_t { kNearest, kLinear, kCubic };

  Interpolation mode = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
  float cubic_a = -0.75F;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation = 0.0F;  ///< the value that a crop reads outside of the input
};

/// How one axis is resized.
struct AxisScaling {
  float scale = 1.0F;     ///< output extent over input extent, as the node says
  std::int64_t from = 0;  ///< input extent
  std::int64_t to = 0;    ///< output extent
  float start = 0.0F;     ///< the region of interest, in units of the input
  float end = 1.0F;

  /// Whether the axis stays as it is.
  [[nodiscard]] bool is_identity(const ResizeOptions& options) const {
    return options.coordinates == ResizeOptions::Coordinates::kCrop
               ? start == 0.0F && end == 1.0F && from == to
               : scale == 1.0F;
  }
  /// The coordinate in the input that position `x` of the output reads.
  [[nodiscard]] float source(const ResizeOptions& options, std::int64_t x) const;
  /// Whether a crop reads outside of the input at `coordinate`.
  [[nodiscard]] bool is_outside(const ResizeOptions& options, float coordinate) const;
};

/// Throws Error(kUnsupported) for attributes with unknown values.
ResizeOptions resize_options(const OpContext& op);

/// The scaling of each axis of input 0, from the constant inputs `roi`, `scales` or `sizes` and the
/// attributes `axes` and `keep_aspect_ratio_policy`. Throws Error for contradictions, and when a
/// needed input is not constant. Source: ONNX Resize of opset 19.
std::vector<AxisScaling> resize_scaling(const OpContext& op, const ResizeOptions& options);

/// The two input positions that an output position lies between, and their weights.
struct Between {
  std::int64_t low = 0;
  std::int64_t high = 0;
  float low_weight = 1.0F;
  float high_weight = 0.0F;
};

/// One for each output position of an axis that is interpolated linearly.
std::vector<Between> linear_positions(const OpContext& op, const ResizeOptions& options,
                                      const AxisScaling& axis);

/// Whether QResize can compute a node: it interpolates linearly, along spatial axes only, a tensor
/// of rank 3 to 5 that is not empty, without antialiasing and without a crop.
bool can_resize_bytes(const OpContext& op);

}  // namespace qtool
