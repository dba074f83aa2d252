#include <algorithm>
#include <cmath>

#include "ops/index_map.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

enum class Coordinates : std::uint8_t {
  kHalfPixel,
  kHalfPixelOrZero,  // PyTorch: a single output element reads position 0
  kHalfPixelUnshifted,
  kAlignCorners,
  kAsymmetric,
};
enum class Nearest : std::uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
enum class Interpolation : std::uint8_t { kNearest, kLinear, kCubic };

template <typename Kind>
Kind choose(const OpContext& op, std::string_view key, std::string_view fallback,
            std::initializer_list<std::pair<std::string_view, Kind>> choices) {
  const std::string found = op.node.get_string(key, fallback);
  for (const auto& [name, kind] : choices) {
    if (found == name) return kind;
  }
  op.fail(ErrorCode::kUnsupported,
          concat("attribute '", key, "' is '", found, "', which is not supported"));
}

struct ResizeOptions {
  Interpolation mode;
  Coordinates coordinates;
  Nearest nearest;
  float cubic_a;
  bool exclude_outside;
};

ResizeOptions options_of(const OpContext& op) {
  return {choose<Interpolation>(op, "mode", "nearest",
                                {{"nearest", Interpolation::kNearest},
                                 {"linear", Interpolation::kLinear},
                                 {"cubic", Interpolation::kCubic}}),
          choose<Coordinates>(op, "coordinate_transformation_mode", "half_pixel",
                              {{"half_pixel", Coordinates::kHalfPixel},
                               {"pytorch_half_pixel", Coordinates::kHalfPixelOrZero},
                               {"tf_half_pixel_for_nn", Coordinates::kHalfPixelUnshifted},
                               {"align_corners", Coordinates::kAlignCorners},
                               {"asymmetric", Coordinates::kAsymmetric}}),
          choose<Nearest>(op, "nearest_mode", "round_prefer_floor",
                          {{"round_prefer_floor", Nearest::kRoundPreferFloor},
                           {"round_prefer_ceil", Nearest::kRoundPreferCeil},
                           {"floor", Nearest::kFloor},
                           {"ceil", Nearest::kCeil}}),
          op.node.get_float("cubic_coeff_a", -0.75F), op.node.get_int("exclude_outside", 0) != 0};
}

bool is_given(const OpContext& op, std::size_t input) {
  return op.has_input(input) && op.input(input).shape.elements() > 0;
}

// Output extents over input extents, and the output extents, of each axis.
struct Scaling {
  std::vector<float> scales;
  std::vector<std::int64_t> extents;
};

Scaling scaling_of(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  op.require(is_given(op, 2) != is_given(op, 3), "expected either scales or sizes");
  const std::size_t source = is_given(op, 2) ? 2 : 3;
  const Shape& list = op.input(source).shape;
  op.require(list.rank() == 1 && list[0] == in.rank(),
             concat(source == 2 ? "the scales have shape " : "the sizes have shape ",
                    list.to_string(), ", expected [", in.rank(), "]"));
  Scaling scaling;
  if (source == 3) {
    scaling.extents = ints_of(op, 3, "the list of sizes");
    for (std::int64_t axis = 0; axis < in.rank(); ++axis) {
      const std::int64_t to = scaling.extents[static_cast<std::size_t>(axis)];
      op.require(in[axis] > 0 || to == in[axis], concat("axis ", axis, " is empty"));
      scaling.scales.push_back(
          to == in[axis] ? 1.0F : static_cast<float>(to) / static_cast<float>(in[axis]));
    }
    return scaling;
  }
  require_type(op, 2, FloatType{});
  const Tensor* scales = op.constant(2);
  if (scales == nullptr) {
    op.fail(ErrorCode::kUnsupported, "the scales depend on the data; only constants are supported");
  }
  for (std::int64_t axis = 0; axis < in.rank(); ++axis) {
    const float scale = scales->values<float>()[static_cast<std::size_t>(axis)];
    const float extent = std::floor(static_cast<float>(in[axis]) * scale);
    op.require(scale > 0 && extent < 1e12F,
               concat("the scale of axis ", axis, " is ", scale, ", expected a positive number"));
    scaling.scales.push_back(scale);
    scaling.extents.push_back(static_cast<std::int64_t>(extent));
  }
  return scaling;
}

std::vector<ValueInfo> infer_resize(const OpContext& op) {
  if (options_of(op).mode != Interpolation::kNearest) require_type(op, 0, FloatType{});
  return {{op.input(0).dtype, shape_of(op, scaling_of(op).extents)}};
}

// The coordinate in the input of position `x` of the output.
float source_coordinate(Coordinates kind, std::int64_t x, float scale, std::int64_t from,
                        std::int64_t to) {
  const auto place = static_cast<float>(x);
  switch (kind) {
    case Coordinates::kAsymmetric:
      return place / scale;
    case Coordinates::kHalfPixelUnshifted:
      return (place + 0.5F) / scale;
    case Coordinates::kAlignCorners:
      return to == 1 ? 0.0F : place * static_cast<float>(from - 1) / static_cast<float>(to - 1);
    case Coordinates::kHalfPixelOrZero:
      if (to == 1) return 0.0F;
      break;
    case Coordinates::kHalfPixel:
      break;
  }
  return (place + 0.5F) / scale - 0.5F;
}

std::int64_t nearest_place(Nearest kind, float x) {
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
  const Scaling scaling = scaling_of(op);
  std::vector<std::vector<std::int64_t>> places;
  for (std::int64_t axis = 0; axis < out.rank(); ++axis) {
    const float scale = scaling.scales[static_cast<std::size_t>(axis)];
    std::vector<std::int64_t> table;
    for (std::int64_t x = 0; x < out[axis]; ++x) {
      std::int64_t place = x;
      if (scale != 1.0F) {
        place = nearest_place(
            options.nearest, source_coordinate(options.coordinates, x, scale, in[axis], out[axis]));
      }
      table.push_back(std::clamp<std::int64_t>(place, 0, in[axis] - 1));
    }
    places.push_back(std::move(table));
  }
  return make_operator([map = IndexMap(in, op.input_layout(0), out, op.output_layout(0), places),
                        bytes = size_of(op.input(0).dtype)](const Operands& o) {
    map.copy(bytes, o.out<std::byte>(0), o.in<std::byte>(0), o.threads());
  });
}

// Resizing along one axis: each output position is a weighted sum of `taps` input positions.
struct Pass {
  std::int64_t outer = 1;  // extents around the axis, in memory order
  std::int64_t inner = 1;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t taps = 0;
  std::vector<std::int64_t> places;  // [to][taps]
  std::vector<float> weights;

  void run(const float* in, float* out, int threads) const;
};

void Pass::run(const float* in, float* out, int threads) const {
  const std::int64_t rows = inner == 1 ? outer : outer * to;
  const auto one_row_per_axis = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = in + row * from;
      float* y = out + row * to;
      for (std::int64_t o = 0; o < to; ++o) {
        float sum = 0;
        for (std::int64_t t = o * taps; t < (o + 1) * taps; ++t) {
          const auto tap = static_cast<std::size_t>(t);
          sum += weights[tap] * x[places[tap]];
        }
        y[o] = sum;
      }
    }
  };
  const auto one_row_per_place = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* image = in + row / to * from * inner;
      float* y = out + row * inner;
      const auto first = static_cast<std::size_t>(row % to * taps);
      for (std::int64_t t = 0; t < taps; ++t) {
        const float weight = weights[first + static_cast<std::size_t>(t)];
        const float* x = image + places[first + static_cast<std::size_t>(t)] * inner;
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
  parallel_ranges(rows, threads, one_row_per_place);
}

// Weights of the positions around coordinate `x`; Keys' cubic convolution with parameter a.
void append_taps(Pass& pass, const ResizeOptions& options, float x) {
  const auto floor = static_cast<std::int64_t>(std::floor(x));
  const float t = x - std::floor(x);
  std::vector<float> weights = {1 - t, t};
  std::int64_t first = floor;
  if (options.mode == Interpolation::kCubic) {
    const float a = options.cubic_a;
    const auto near = [a](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [a](float d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    weights = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    first = floor - 1;
  }
  if (options.exclude_outside) {
    float sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t place = first + static_cast<std::int64_t>(i);
      if (place < 0 || place >= pass.from) weights[i] = 0;
      sum += weights[i];
    }
    for (float& weight : weights) weight /= sum;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t place = first + static_cast<std::int64_t>(i);
    pass.places.push_back(std::clamp<std::int64_t>(place, 0, pass.from - 1));
    pass.weights.push_back(weights[i]);
  }
}

class InterpolateOperator final : public Operator {
 public:
  InterpolateOperator(const OpContext& op, const ResizeOptions& options) {
    const Layout layout = op.input_layout(0);
    const Scaling scaling = scaling_of(op);
    std::vector<std::int64_t> dims = op.input(0).shape.dims();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (scaling.scales[axis] == 1.0F) continue;
      Pass pass;
      const Shape shape(dims);
      pass.from = dims[axis];
      pass.to = scaling.extents[axis];
      pass.taps = options.mode == Interpolation::kCubic ? 4 : 2;
      pass.inner = std::max<std::int64_t>(1, strides_of(shape, layout)[axis]);
      const std::int64_t elements = shape.elements();
      pass.outer = elements == 0 ? 0 : elements / (pass.from * pass.inner);
      for (std::int64_t x = 0; x < pass.to; ++x) {
        append_taps(
            pass, options,
            source_coordinate(options.coordinates, x, scaling.scales[axis], pass.from, pass.to));
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
  }

 private:
  std::vector<Pass> passes_;
  std::int64_t largest_ = 0;  // elements of the largest result of a pass
  std::int64_t elements_ = 0;
};

std::unique_ptr<Operator> make_resize(const OpContext& op) {
  const ResizeOptions options = options_of(op);
  if (options.mode == Interpolation::kNearest) return make_nearest(op, options);
  return std::make_unique<InterpolateOperator>(op, options);
}

}  // namespace

OpDef op_Resize() { return {infer_resize, make_resize, LayoutRule::kAny}; }

}  // namespace qtool
