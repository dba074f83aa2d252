// GridSample: reads an image of two or three spatial axes at positions that the grid gives as
// numbers from -1 to 1. All channels of a position share its taps and weights.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/stop.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

enum class GridInterpolation : std::uint8_t { kNearest, kLinear, kCubic };
enum class Outside : std::uint8_t { kZeros, kBorder, kReflection };

struct GridOptions {
  GridInterpolation mode = GridInterpolation::kLinear;
  Outside outside = Outside::kZeros;
  bool align_corners = false;
};

GridOptions grid_options(const OpContext& op) {
  GridOptions options;
  const std::string mode = op.node.get_string("mode", "bilinear");
  const std::string padding = op.node.get_string("padding_mode", "zeros");
  if (mode == "nearest") options.mode = GridInterpolation::kNearest;
  if (mode == "bicubic" || mode == "cubic") options.mode = GridInterpolation::kCubic;
  op.require(options.mode != GridInterpolation::kLinear || mode == "bilinear" || mode == "linear",
             to_text("attribute 'mode' is '", mode, "', expected nearest, bilinear or bicubic"));
  if (padding == "border") options.outside = Outside::kBorder;
  if (padding == "reflection") options.outside = Outside::kReflection;
  op.require(
      options.outside != Outside::kZeros || padding == "zeros",
      to_text("attribute 'padding_mode' is '", padding, "', expected zeros, border or reflection"));
  options.align_corners = op.node.get_int("align_corners", 0) != 0;
  return options;
}

std::vector<ValueInfo> infer_grid(const OpContext& op) {
  require_type(op, 0, FloatType{});
  require_type(op, 1, FloatType{});
  const GridOptions options = grid_options(op);
  const Shape& x = op.input(0).shape;
  const Shape& grid = op.input(1).shape;
  const std::int64_t axes = x.rank() - 2;
  op.require((axes == 2 || axes == 3) && grid.rank() == x.rank() && grid[0] == x[0] &&
                 grid[x.rank() - 1] == axes,
             to_text("a grid of shape ", grid.to_string(), " does not fit an input of shape ",
                     x.to_string()));
  if (axes == 3 && options.mode == GridInterpolation::kCubic) {
    op.fail(ErrorCode::kUnsupported, "cubic sampling of three spatial axes is not supported");
  }
  std::vector<std::int64_t> dims{x[0], x[1]};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  const Shape out = shape_of(op, std::move(dims));
  op.require(x.elements() > 0 || out.elements() == 0, "the input is empty");
  return {{DType::kFloat32, out}};
}

// `x` mirrored into [low, high] as often as needed.
float reflect(float x, float low, float high) {
  const float range = high - low;
  if (!(range > 0)) return low;
  const float distance = std::fmod(std::abs(x - low), 2 * range);
  return low + (distance > range ? 2 * range - distance : distance);
}

// The positions along one axis that a coordinate reads, with their weights. Position -1 reads 0.
struct AxisTaps {
  std::array<std::int64_t, 4> places;
  std::array<float, 4> weights;
  int count = 0;

  void add(std::int64_t place, float weight) {
    places[static_cast<std::size_t>(count)] = place;
    weights[static_cast<std::size_t>(count++)] = weight;
  }
};

class Axis {
 public:
  Axis(std::int64_t extent, const GridOptions& options)
      : options_(options),
        extent_(extent),
        low_(options.align_corners ? 0.0F : -0.5F),
        high_(static_cast<float>(extent) - (options.align_corners ? 1.0F : 0.5F)) {}

  [[nodiscard]] AxisTaps taps(float normalized) const {
    const float x = clean(low_ + (normalized + 1.0F) / 2.0F * (high_ - low_));
    AxisTaps taps;
    if (options_.mode == GridInterpolation::kNearest) {
      taps.add(place(std::nearbyint(bounded(x))), 1.0F);
    } else if (options_.mode == GridInterpolation::kLinear) {
      const float inside = bounded(x);
      const float floor = std::floor(inside);
      taps.add(place(floor), 1.0F - (inside - floor));
      taps.add(place(floor + 1), inside - floor);
    } else {
      add_cubic(taps, x);
    }
    return taps;
  }

 private:
  // Limits a coordinate that is far outside, or NaN, to a number that fits into an integer.
  static float clean(float x) {
    constexpr float kFar = 1e9F;
    return std::isnan(x) ? -kFar : std::clamp(x, -kFar, kFar);
  }

  [[nodiscard]] float bounded(float x) const {
    if (options_.outside == Outside::kZeros) return x;
    if (options_.outside == Outside::kReflection) x = reflect(x, low_, high_);
    return std::clamp(x, 0.0F, static_cast<float>(extent_ - 1));
  }

  [[nodiscard]] std::int64_t place(float x) const {
    const auto at = static_cast<std::int64_t>(x);
    return at < 0 || at >= extent_ ? -1 : at;
  }

  // Keys' cubic convolution with a = -0.75. The position of each tap is bounded separately.
  void add_cubic(AxisTaps& taps, float x) const {
    constexpr float kA = -0.75F;
    const float floor = std::floor(x);
    const float t = x - floor;
    const auto near = [](float d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    const auto far = [](float d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
    const std::array<float, 4> weights = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float at = bounded(floor + static_cast<float>(i) - 1);
      taps.add(place(std::nearbyint(at)), weights[i]);
    }
  }

  GridOptions options_;
  std::int64_t extent_;
  float low_;  // the coordinates that -1 and 1 stand for
  float high_;
};

class GridSampleOperator final : public Operator {
 public:
  explicit GridSampleOperator(const OpContext& op)
      : shape_(op.output(0).shape),
        from_(strides_of(op.input(0).shape, op.input_layout(0))),
        grid_(strides_of(op.input(1).shape, op.input_layout(1))),
        to_(strides_of(shape_, op.output_layout(0))) {
    const GridOptions options = grid_options(op);
    for (std::int64_t axis = 2; axis < op.input(0).shape.rank(); ++axis) {
      axes_.emplace_back(op.input(0).shape[axis], options);
    }
  }

  void run(const Operands& o) const override {
    if (shape_.elements() == 0) return;
    const std::int64_t pixels = shape_.elements() / shape_[1];
    const int threads = shape_.elements() < kParallelElements ? 1 : o.threads();
    parallel_ranges(pixels, threads, [&](std::int64_t begin, std::int64_t end, int) {
      StopPace pace;
      for (std::int64_t i = begin; i < end; ++i) {
        pace.step(kStepsPerPixel + shape_[1]);
        sample(i, o);
      }
    });
  }

 private:
  static constexpr std::int64_t kStepsPerPixel = 16;  // cost of a pixel's positions and weights

  void sample(std::int64_t pixel, const Operands& o) const {
    const std::size_t axes = axes_.size();
    std::int64_t out = 0;
    std::int64_t at = 0;
    std::int64_t rest = pixel;
    for (std::size_t axis = axes; axis-- > 0;) {
      const std::int64_t extent = shape_[static_cast<std::int64_t>(axis) + 2];
      out += rest % extent * to_[axis + 2];
      at += rest % extent * grid_[axis + 1];
      rest /= extent;
    }
    out += rest * to_[0];
    at += rest * grid_[0];
    // The grid gives x before y before z, the axes are z, y, x.
    std::array<AxisTaps, 3> taps;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const auto coordinate = static_cast<std::int64_t>(axes - 1 - axis);
      taps[axis] = axes_[axis].taps(o.in<float>(1)[at + coordinate * grid_[axes + 1]]);
    }
    float* y = o.out<float>(0) + out;
    for (std::int64_t c = 0; c < shape_[1]; ++c) y[c * to_[1]] = 0;
    add_taps({taps.data(), axes}, rest * from_[0], 1.0F, o.in<float>(0), y);
  }

  // Adds `weight` times the input to `y`, for all combinations of `taps`. These belong to the axes
  // that `offset` does not cover yet.
  void add_taps(std::span<const AxisTaps> taps, std::int64_t offset, float weight, const float* in,
                float* y) const {
    if (taps.empty()) {
      const float* x = in + offset;
      const std::int64_t channels = shape_[1];
      if (from_[1] == 1 && to_[1] == 1) {
        for (std::int64_t c = 0; c < channels; ++c) y[c] += weight * x[c];
      } else {
        for (std::int64_t c = 0; c < channels; ++c) y[c * to_[1]] += weight * x[c * from_[1]];
      }
      return;
    }
    const AxisTaps& axis = taps.front();
    const std::int64_t step = from_[from_.size() - taps.size()];
    for (std::size_t i = 0; i < static_cast<std::size_t>(axis.count); ++i) {
      if (axis.places[i] < 0) continue;
      add_taps(taps.subspan(1), offset + axis.places[i] * step, weight * axis.weights[i], in, y);
    }
  }

  Shape shape_;
  std::vector<std::int64_t> from_;
  std::vector<std::int64_t> grid_;
  std::vector<std::int64_t> to_;
  std::vector<Axis> axes_;
};

}  // namespace

// Either layout: channels-last lets the compiler vectorize over the channels.
OpDef op_GridSample() {
  return {infer_grid,
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<GridSampleOperator>(op);
          },
          LayoutRule::kAny};
}

}  // namespace qtool
