#include "ops/resize_options.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "ops/infer_rules.h"

namespace qtool {
namespace {

using Coordinates = ResizeOptions::Coordinates;
using Nearest = ResizeOptions::Nearest;
using Interpolation = ResizeOptions::Interpolation;

template <typename Kind>
Kind choose_option(const OpContext& op, std::string_view key, std::string_view fallback,
                   std::initializer_list<std::pair<std::string_view, Kind>> choices) {
  const std::string found = op.node.get_string(key, fallback);
  for (const auto& [name, kind] : choices) {
    if (found == name) return kind;
  }
  op.fail(ErrorCode::kUnsupported,
          to_text("attribute '", key, "' is '", found, "', which is not supported"));
}

bool is_given(const OpContext& op, std::size_t input) {
  return op.has_input(input) && op.input(input).shape.elements() > 0;
}

// The axes that the entries of the node's lists belong to, in the order of the lists.
std::vector<std::int64_t> listed_axes(const OpContext& op) {
  const std::int64_t rank = op.input(0).shape.rank();
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (!op.node.has("axes")) return axes;
  axes = op.node.get_ints("axes", {});
  for (std::int64_t& axis : axes) axis = axis_of(op, axis, rank);
  static_cast<void>(axes_of(op, axes, rank));  // throws when an axis is listed twice
  return axes;
}

// The floats of a constant list with `count` elements.
std::span<const float> floats_of(const OpContext& op, std::size_t input, std::size_t count,
                                 std::string_view what) {
  require_type(op, input, FloatType{});
  const Tensor* tensor = op.constant(input);
  if (tensor == nullptr) {
    op.fail(ErrorCode::kUnsupported,
            to_text("the ", what, " depend on the data; only constants are supported"));
  }
  op.require(tensor->shape() == Shape{static_cast<std::int64_t>(count)},
             to_text("the ", what, " have shape ", tensor->shape().to_string(), ", expected [",
                     count, "]"));
  return tensor->values<float>();
}

void set_sizes(const OpContext& op, const std::vector<std::int64_t>& axes,
               std::vector<AxisScaling>& scaling) {
  enum class Policy : std::uint8_t { kStretch, kNotLarger, kNotSmaller };
  const Policy policy = choose_option<Policy>(op, "keep_aspect_ratio_policy", "stretch",
                                              {{"stretch", Policy::kStretch},
                                               {"not_larger", Policy::kNotLarger},
                                               {"not_smaller", Policy::kNotSmaller}});
  const std::vector<std::int64_t> sizes = ints_of(op, 3, "the list of sizes");
  op.require(sizes.size() == axes.size(),
             to_text("the sizes have shape [", sizes.size(), "], expected [", axes.size(), "]"));
  std::optional<float> common;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisScaling& axis = scaling[static_cast<std::size_t>(axes[i])];
    axis.to = shape_of(op, {sizes[i]})[0];
    op.require(axis.from > 0 || axis.to == axis.from, to_text("axis ", axes[i], " is empty"));
    if (axis.to == axis.from) {
      axis.scale = 1.0F;
    } else {
      axis.scale = static_cast<float>(axis.to) / static_cast<float>(axis.from);
    }
    if (!common) common = axis.scale;
    common = policy == Policy::kNotLarger ? std::min(*common, axis.scale)
                                          : std::max(*common, axis.scale);
  }
  if (policy == Policy::kStretch || !common) return;
  for (const std::int64_t i : axes) {
    AxisScaling& axis = scaling[static_cast<std::size_t>(i)];
    axis.scale = *common;
    const float extent = std::floor(*common * static_cast<float>(axis.from) + 0.5F);
    op.require(extent < 1e12F, to_text("axis ", i, " becomes too long"));
    axis.to = static_cast<std::int64_t>(extent);
  }
}

void set_scales(const OpContext& op, const ResizeOptions& options,
                const std::vector<std::int64_t>& axes, std::vector<AxisScaling>& scaling) {
  const std::span<const float> scales = floats_of(op, 2, axes.size(), "scales");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisScaling& axis = scaling[static_cast<std::size_t>(axes[i])];
    axis.scale = scales[i];
    const bool crops = options.coordinates == Coordinates::kCrop;
    const float part = crops ? axis.end - axis.start : 1.0F;
    const float extent = std::floor(static_cast<float>(axis.from) * part * axis.scale);
    op.require(
        axis.scale > 0 && extent >= 0 && extent < 1e12F,
        to_text("the scale of axis ", axes[i], " is ", axis.scale, ", expected a positive number"));
    axis.to = static_cast<std::int64_t>(extent);
  }
}

}  // namespace

ResizeOptions resize_options(const OpContext& op) {
  ResizeOptions options;
  options.mode = choose_option<Interpolation>(op, "mode", "nearest",
                                              {{"nearest", Interpolation::kNearest},
                                               {"linear", Interpolation::kLinear},
                                               {"cubic", Interpolation::kCubic}});
  options.coordinates =
      choose_option<Coordinates>(op, "coordinate_transformation_mode", "half_pixel",
                                 {{"half_pixel", Coordinates::kHalfPixel},
                                  {"pytorch_half_pixel", Coordinates::kHalfPixelOrZero},
                                  {"tf_half_pixel_for_nn", Coordinates::kHalfPixelUnshifted},
                                  {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
                                  {"align_corners", Coordinates::kAlignCorners},
                                  {"asymmetric", Coordinates::kAsymmetric},
                                  {"tf_crop_and_resize", Coordinates::kCrop}});
  options.nearest = choose_option<Nearest>(op, "nearest_mode", "round_prefer_floor",
                                           {{"round_prefer_floor", Nearest::kRoundPreferFloor},
                                            {"round_prefer_ceil", Nearest::kRoundPreferCeil},
                                            {"floor", Nearest::kFloor},
                                            {"ceil", Nearest::kCeil}});
  options.cubic_a = op.node.get_float("cubic_coeff_a", -0.75F);
  options.exclude_outside = op.node.get_int("exclude_outside", 0) != 0;
  options.antialias = op.node.get_int("antialias", 0) != 0;
  options.extrapolation = op.node.get_float("extrapolation_value", 0.0F);
  return options;
}

std::vector<AxisScaling> resize_scaling(const OpContext& op, const ResizeOptions& options) {
  const Shape& in = op.input(0).shape;
  op.require(is_given(op, 2) != is_given(op, 3), "expected either scales or sizes");
  const std::vector<std::int64_t> axes = listed_axes(op);
  std::vector<AxisScaling> scaling(static_cast<std::size_t>(in.rank()));
  for (std::size_t axis = 0; axis < scaling.size(); ++axis) {
    scaling[axis].from = scaling[axis].to = in[static_cast<std::int64_t>(axis)];
  }
  if (options.coordinates == Coordinates::kCrop) {
    const std::span<const float> region = floats_of(op, 1, 2 * axes.size(), "regions");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      AxisScaling& axis = scaling[static_cast<std::size_t>(axes[i])];
      axis.start = region[i];
      axis.end = region[axes.size() + i];
      op.require(std::abs(axis.start) < 1e6F && std::abs(axis.end) < 1e6F,
                 "a region of interest is no part of the input");
    }
  }
  if (is_given(op, 2)) {
    set_scales(op, options, axes, scaling);
  } else {
    set_sizes(op, axes, scaling);
  }
  for (std::size_t axis = 0; axis < scaling.size(); ++axis) {
    op.require(scaling[axis].from > 0 || scaling[axis].to == 0,
               to_text("axis ", axis, " is empty"));
  }
  return scaling;
}

float AxisScaling::source(const ResizeOptions& options, std::int64_t x) const {
  const auto place = static_cast<float>(x);
  const auto length = static_cast<float>(from);
  switch (options.coordinates) {
    case Coordinates::kAsymmetric:
      return place / scale;
    case Coordinates::kHalfPixelUnshifted:
      return (place + 0.5F) / scale;
    case Coordinates::kAlignCorners:
      return to == 1 ? 0.0F : place * (length - 1) / static_cast<float>(to - 1);
    case Coordinates::kCrop:
      if (to == 1) return 0.5F * (start + end) * (length - 1);
      return start * (length - 1) +
             place * (end - start) * (length - 1) / static_cast<float>(to - 1);
    case Coordinates::kHalfPixelSymmetric: {
      const float kept = static_cast<float>(to) / (scale * length);
      return length / 2 * (1 - kept) + (place + 0.5F) / scale - 0.5F;
    }
    case Coordinates::kHalfPixelOrZero:
      if (to == 1) return 0.0F;
      break;
    case Coordinates::kHalfPixel:
      break;
  }
  return (place + 0.5F) / scale - 0.5F;
}

bool AxisScaling::is_outside(const ResizeOptions& options, float coordinate) const {
  return options.coordinates == Coordinates::kCrop &&
         !(coordinate >= 0 && coordinate <= static_cast<float>(from - 1));
}

std::vector<Between> linear_positions(const OpContext& op, const ResizeOptions& options,
                                      const AxisScaling& axis) {
  op.claim(axis.to, 2 * sizeof(Between));  // a vector may have twice the capacity
  std::vector<Between> all;
  StopPace pace;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    pace.step();
    const float x = axis.is_identity(options) ? static_cast<float>(i) : axis.source(options, i);
    const float below = std::floor(x);
    const auto first = static_cast<std::int64_t>(below);
    Between position;
    position.low = std::clamp<std::int64_t>(first, 0, axis.from - 1);
    position.high = std::clamp<std::int64_t>(first + 1, 0, axis.from - 1);
    position.high_weight = x - below;
    position.low_weight = 1.0F - position.high_weight;
    all.push_back(position);
  }
  return all;
}

bool can_resize_bytes(const OpContext& op) {
  const ResizeOptions options = resize_options(op);
  if (options.mode != ResizeOptions::Interpolation::kLinear || options.antialias ||
      options.coordinates == ResizeOptions::Coordinates::kCrop ||
      op.input(0).shape.elements() == 0) {
    return false;
  }
  const std::int64_t rank = op.input(0).shape.rank();
  if (rank < 3 || rank > 5) return false;
  const std::vector<AxisScaling> scaling = resize_scaling(op, options);
  return scaling[0].is_identity(options) && scaling[1].is_identity(options) &&
         scaling[0].from == scaling[0].to && scaling[1].from == scaling[1].to;
}

}  // namespace qtool
