#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "ops/index_map.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/resize_options.h"
#include "ops/strides.h"

namespace qtool {
namespace {

using Nearest = ResizeOptions::Nearest;
std::vector<ValueInfo> infer_resize(const OpContext& op) {
  const ResizeOptions options = resize_options(op);
  if (options.mode != ResizeOptions::Interpolation::kNearest) require_type(op, 0, FloatType{});
  if (options.coordinates == ResizeOptions::Coordinates::kCrop) require_type(op, 0, FloatType{});
  std::vector<std::int64_t> dims;
  for (const AxisScaling& axis : resize_scaling(op, options)) dims.push_back(axis.to);
  return {{op.input(0).dtype, shape_of(op, std::move(dims))}};
}

// After resizing, replaces the elements that a crop reads outside of the input.
class Extrapolation {
 public:
  Extrapolation(const OpContext& op, const ResizeOptions& options) : value_(options.extrapolation) {
    const std::vector<AxisScaling> scaling = resize_scaling(op, options);
    const Shape& out = op.output(0).shape;
    const std::vector<std::int64_t> strides = strides_of(out, op.output_layout(0));
    if (options.coordinates != ResizeOptions::Coordinates::kCrop) return;
    StopPace pace;
    for (std::size_t axis = 0; axis < scaling.size(); ++axis) {
      std::vector<std::int64_t> dims = out.dims();
      std::int64_t first = 0;  // first of a contiguous group of positions outside
      for (std::int64_t x = 0; x <= scaling[axis].to; ++x) {
        pace.step();
        const bool outside = x < scaling[axis].to &&
                             scaling[axis].is_outside(options, scaling[axis].source(options, x));
        if (outside) continue;
        dims[axis] = x - first;
        if (x > first) slices_.push_back({LoopNest<1>(dims, {strides}), first * strides[axis]});
        first = x + 1;
      }
    }
  }
  void apply(float* out) const {
    for (const Slice& slice : slices_) {
      slice.nest.run_range(0, slice.nest.total(),
                           [&](std::int64_t count, const LoopNest<1>::Offsets& at) {
                             float* y = out + slice.offset + at[0];
                             const std::int64_t step = slice.nest.inner_step(0);
                             for (std::int64_t i = 0; i < count; ++i) y[i * step] = value_;
                           });
    }
  }

 private:
  struct Slice {
    LoopNest<1> nest;
    std::int64_t offset;
  };
  float value_;
  std::vector<Slice> slices_;
};

std::int64_t nearest_position(Nearest kind, float x) {
  switch (kind) {
    case Nearest::kFloor:
      return static_cast<std::int64_t>(std::floor(x));
    case Nearest::kCeil:
      return static_cast<std::int64_t>(std::ceil(x));
    case Nearest::kRoundPreferCeil:
      return static_cast<std::int64_t>(std::floor(x + 0.5F));
    case Nearest::kRoundPreferFloor:
      break;
  }
  return static_cast<std::int64_t>(std::ceil(x - 0.5F));
}

std::unique_ptr<Operator> make_nearest(const OpContext& op, const ResizeOptions& options) {
  const Shape& in = op.input(0).shape;
  const Shape& out = op.output(0).shape;
  std::vector<std::vector<std::int64_t>> positions;
  StopPace pace;
  for (const AxisScaling& axis : resize_scaling(op, options)) {
    std::vector<std::int64_t> table;
    claim_index_tables(op, axis.to);
    for (std::int64_t x = 0; x < axis.to; ++x) {
      pace.step();
      const std::int64_t position =
          axis.is_identity(options) ? x
                                    : nearest_position(options.nearest, axis.source(options, x));
      table.push_back(std::clamp<std::int64_t>(position, 0, axis.from - 1));
    }
    positions.push_back(std::move(table));
  }
  return make_operator([map = IndexMap(in, op.input_layout(0), out, op.output_layout(0), positions),
                        bytes = size_of(op.input(0).dtype),
                        outside = Extrapolation(op, options)](const Operands& o) {
    map.copy(bytes, o.out<std::byte>(0), o.in<std::byte>(0), o.threads());
    outside.apply(o.out<float>(0));
  });
}

constexpr std::size_t kTapBytes = 2 * (sizeof(std::int64_t) + sizeof(float));

// Resizing along one axis: each output position is a weighted sum of `taps` input positions.
struct Pass {
  std::int64_t outer = 1;  // extents around the axis, in memory order
  std::int64_t inner = 1;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t taps = 0;
  std::vector<std::int64_t> positions;  // [to][taps]; may have twice that capacity
  std::vector<float> weights;

  void run(const float* in, float* out, int threads) const;
};

void Pass::run(const float* in, float* out, int threads) const {
  const std::int64_t rows = inner == 1 ? outer : outer * to;
  const auto one_row_per_axis = [&](std::int64_t begin, std::int64_t end, int) {
    StopPace pace;
    for (std::int64_t row = begin; row < end; ++row) {
      pace.step(to * taps);
      const float* x = in + row * from;
      float* y = out + row * to;
      for (std::int64_t o = 0; o < to; ++o) {
        float sum = 0;
        for (std::int64_t t = o * taps; t < (o + 1) * taps; ++t) {
          const auto tap = static_cast<std::size_t>(t);
          sum += weights[tap] * x[positions[tap]];
        }
        y[o] = sum;
      }
    }
  };
  const auto one_row_per_position = [&](std::int64_t begin, std::int64_t end, int) {
    StopPace pace;
    for (std::int64_t row = begin; row < end; ++row) {
      pace.step(inner * taps);
      const float* image = in + row / to * from * inner;
      float* y = out + row * inner;
      const auto first = static_cast<std::size_t>(row % to * taps);
      for (std::int64_t t = 0; t < taps; ++t) {
        const float weight = weights[first + static_cast<std::size_t>(t)];
        const float* x = image + positions[first + static_cast<std::size_t>(t)] * inner;
        if (t == 0) {
          for (std::int64_t i = 0; i < inner; ++i) y[i] = weight * x[i];
        } else {
          for (std::int64_t i = 0; i < inner; ++i) y[i] += weight * x[i];
        }
      }
    }
  };
  if (outer * to * inner < kParallelElements) threads = 1;
  if (inner == 1) return parallel_ranges(rows, threads, one_row_per_axis);
  parallel_ranges(rows, threads, one_row_per_position);
}

// The filter of an interpolation at a distance: linear, or Keys' cubic convolution with parameter
// a.
float filter_at(const ResizeOptions& options, float distance) {
  const float d = std::abs(distance);
  if (options.mode == ResizeOptions::Interpolation::kLinear) return std::max(0.0F, 1 - d);
  const float a = options.cubic_a;
  if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0F;
}

// The factor that stretches the filter: above 1 only when shrinking with antialiasing.
// filter_reach() is the number of positions that the filter reaches on each side.
float stretch_of(const ResizeOptions& options, const AxisScaling& axis) {
  if (!options.antialias) return 1.0F;
  return std::clamp(1.0F / axis.scale, 1.0F, static_cast<float>(axis.from + 1));
}
std::int64_t filter_reach(const ResizeOptions& options, const AxisScaling& axis) {
  const float radius = options.mode == ResizeOptions::Interpolation::kCubic ? 2.0F : 1.0F;
  return static_cast<std::int64_t>(std::ceil(radius * stretch_of(options, axis)));
}

// Appends the positions around coordinate `x` and their weights, with sum 1. A position outside of
// the input reads the border; with exclude_outside its weight is 0.
void append_taps(Pass& pass, const ResizeOptions& options, const AxisScaling& axis, float x) {
  const float stretch = stretch_of(options, axis);
  const auto first = static_cast<std::int64_t>(std::floor(x)) + 1 - pass.taps / 2;
  float sum = 0;
  for (std::int64_t position = first; position < first + pass.taps; ++position) {
    const bool outside = position < 0 || position >= pass.from;
    const float distance = (static_cast<float>(position) - x) / stretch;
    const float weight = outside && options.exclude_outside ? 0.0F : filter_at(options, distance);
    pass.positions.push_back(std::clamp<std::int64_t>(position, 0, pass.from - 1));
    pass.weights.push_back(weight);
    sum += weight;
  }
  if ((!options.exclude_outside && stretch == 1) || sum == 0) return;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(pass.taps); ++i) {
    pass.weights[pass.weights.size() - i] /= sum;
  }
}

class InterpolateOperator final : public Operator {
 public:
  InterpolateOperator(const OpContext& op, const ResizeOptions& options) : outside_(op, options) {
    const Layout layout = op.input_layout(0);
    const std::vector<AxisScaling> scaling = resize_scaling(op, options);
    std::vector<std::int64_t> dims = op.input(0).shape.dims();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (scaling[axis].is_identity(options)) continue;
      Pass pass;
      const Shape shape(dims);
      pass.from = dims[axis];
      pass.to = scaling[axis].to;
      pass.taps = 2 * filter_reach(options, scaling[axis]);
      pass.inner = std::max<std::int64_t>(1, strides_of(shape, layout)[axis]);
      const std::int64_t elements = shape.elements();
      pass.outer = elements == 0 ? 0 : elements / (pass.from * pass.inner);
      op.claim(pass.to, static_cast<std::size_t>(pass.taps) * kTapBytes);
      StopPace pace;
      for (std::int64_t x = 0; x < pass.to; ++x) {
        pace.step(pass.taps);
        append_taps(pass, options, scaling[axis], scaling[axis].source(options, x));
      }
      dims[axis] = pass.to;
      passes_.push_back(std::move(pass));
      largest_ = std::max(largest_, shape_of(op, dims).elements());
    }
    elements_ = Shape(dims).elements();
  }

  // Two buffers, used alternately by the passes.
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    const std::int64_t buffers =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(passes_.size()) - 1, 0, 2);
    return buffers * largest_ * static_cast<std::int64_t>(sizeof(float));
  }

  void run(const Operands& o) const override {
    if (elements_ == 0) return;
    const float* in = o.in<float>(0);
    if (passes_.empty()) {
      std::copy_n(in, elements_, o.out<float>(0));
      return;
    }
    auto* buffers = reinterpret_cast<float*>(o.workspace());
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      const bool last = i + 1 == passes_.size();
      float* out = last ? o.out<float>(0) : buffers + (i % 2 == 0 ? 0 : largest_);
      passes_[i].run(in, out, o.threads());
      in = out;
    }
    outside_.apply(o.out<float>(0));
  }

 private:
  Extrapolation outside_;
  std::vector<Pass> passes_;
  std::int64_t largest_ = 0;  // elements of the largest result of a pass
  std::int64_t elements_ = 0;
};

std::unique_ptr<Operator> make_resize(const OpContext& op) {
  const ResizeOptions options = resize_options(op);
  if (options.mode == ResizeOptions::Interpolation::kNearest) return make_nearest(op, options);
  return std::make_unique<InterpolateOperator>(op, options);
}

}  // namespace

OpDef op_Resize() { return {infer_resize, make_resize, LayoutRule::kAny}; }

}  // namespace qtool
