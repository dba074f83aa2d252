// ConvInteger and MatMulInteger: products of bytes whose int32 sums are the result, as dynamic
// quantization uses them. With constant weights they run on the integer kernels; the zero point of
// the input may be known only at run time. All other cases use plain loops.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "ops/infer_rules.h"
#include "ops/integer/packed_sums.h"
#include "ops/operator.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace qtool {
namespace {

using ByteTypes = TypeList<std::uint8_t, std::int8_t>;

// u8 or s8 elements as int32.
struct Bytes {
  const std::byte* data = nullptr;
  DType dtype = DType::kUInt8;

  static Bytes of(const TensorView& view) { return {view.data, view.dtype}; }
  static Bytes of(const Tensor& tensor) { return {tensor.data(), tensor.dtype()}; }
  [[nodiscard]] std::int32_t operator[](std::int64_t i) const {
    const auto byte = static_cast<std::uint8_t>(data[i]);
    return dtype == DType::kInt8 ? std::int32_t{static_cast<std::int8_t>(byte)} : byte;
  }
};

// Zero points: none, one, or one per index.
struct ZeroPoints {
  Bytes bytes;
  std::int64_t count = 0;

  static ZeroPoints of(const Operands& o, std::size_t input) {
    if (!o.has_input(input)) return {};
    return {Bytes::of(o.input(input)), o.input(input).shape.elements()};
  }
  [[nodiscard]] std::int32_t at(std::int64_t i) const {
    return count == 0 ? 0 : bytes[count == 1 ? 0 : i];
  }
};

// A product as a convolution: s8 weights [M, C / groups, kh, kw] and their parameters.
struct Filters {
  std::vector<std::int8_t> values;
  std::vector<std::int32_t> zero_points;  // empty: zeros
  ConvWeights extents;                    // values and zero points not set
};

// u8 weights become s8: 128 is subtracted from the weights and from their zero points.
std::int32_t to_signed(DType dtype) { return dtype == DType::kUInt8 ? -128 : 0; }

void set_zero_points(const OpContext& op, Filters& filters) {
  const std::int32_t move = to_signed(op.constant(1)->dtype());
  if (!op.has_input(3) && move == 0) return;
  const Tensor* stored = op.has_input(3) ? op.constant(3) : nullptr;
  for (std::int64_t c = 0; c < filters.extents.out_channels; ++c) {
    std::int32_t zero_point = 0;
    if (stored != nullptr) zero_point = Bytes::of(*stored)[stored->elements() == 1 ? 0 : c];
    filters.zero_points.push_back(zero_point + move);
  }
}

// The constant weights for the kernels; nothing when they are not constant or a sum might not fit
// into int32, which the kernels refuse.
std::optional<Filters> filters_of(const OpContext& op, const ConvWeights& extents) {
  const Tensor* weights = op.constant(1);
  if (weights == nullptr || weights->elements() == 0) return std::nullopt;
  if (op.has_input(3) && op.constant(3) == nullptr) return std::nullopt;
  Filters filters;
  filters.extents = extents;
  const Bytes bytes = Bytes::of(*weights);
  const std::int32_t move = to_signed(weights->dtype());
  const std::int64_t depth = weights->elements() / extents.out_channels;
  // A matrix is stored as [K, N] and must be transposed; a filter [M, ...] is in the right order.
  const bool matrix = weights->shape().rank() == 2;
  for (std::int64_t c = 0; c < extents.out_channels; ++c) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t at = matrix ? k * extents.out_channels + c : c * depth + k;
      filters.values.push_back(static_cast<std::int8_t>(bytes[at] + move));
    }
  }
  set_zero_points(op, filters);
  if (!sums_fit(filters.values, filters.zero_points, depth)) return std::nullopt;
  return filters;
}

std::shared_ptr<const PackedSums> pack_filters(const OpContext& op, const Filters& filters) {
  const auto make = [&] {
    ConvWeights weights = filters.extents;
    weights.values = filters.values;
    weights.weight_zero_points = filters.zero_points;
    return std::make_shared<PackedSums>(pack_sums(weights));
  };
  const ConvWeights& extents = filters.extents;
  return op.packed<PackedSums>(
      {to_text("sums ", extents.out_channels, " ", extents.in_channels, " ", extents.kernel_h, " ",
               extents.kernel_w, " ", extents.groups),
       {op.shared_constant(1), op.shared_constant(3)}},
      make);
}

// acc = sum (x - zx)(w - zw) on the kernels. They use zx for padding only; zx times the sum of (w -
// zw) is subtracted afterwards.
class KernelProduct final : public Operator {
 public:
  KernelProduct(const OpContext& op, const Filters& filters, ConvShape shape)
      : packed_(pack_filters(op, filters)),
        shape_(shape),
        signed_(op.input(0).dtype == DType::kInt8) {
    shape_.padding = std::uint8_t{0};
    input_bytes_ = signed_ ? align_up(op.input(0).shape.elements()) : 0;
    workspace_ = input_bytes_ + packed_->conv.workspace_bytes(shape_, op.threads);
    pixels_ = shape.batch * shape.out_h * shape.out_w;
    macs_ = pixels_ * static_cast<std::int64_t>(filters.values.size());
  }
  void run(const Operands& o) const override {
    const std::int32_t zero_point = ZeroPoints::of(o, 2).at(0) + (signed_ ? 128 : 0);
    ConvShape shape = shape_;
    shape.padding = static_cast<std::uint8_t>(zero_point);
    const auto* input = o.in<std::uint8_t>(0);
    if (signed_) {
      auto* raised = reinterpret_cast<std::uint8_t*>(o.workspace());
      in_pieces(o.input(0).shape.elements(), [&](std::int64_t begin, std::int64_t end) {
        std::transform(input + begin, input + end, raised + begin,
                       [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 0x80U); });
      });
      input = raised;
    }
    auto* out = o.out<std::int32_t>(0);
    packed_->conv.run(shape, input, out, o.workspace() + input_bytes_, o.threads());
    if (zero_point == 0) return;
    const auto channels = static_cast<std::int64_t>(packed_->sums.size());
    parallel_ranges(pixels_, o.threads(), [&](std::int64_t begin, std::int64_t end, int) {
      StopPace pace;
      for (std::int64_t pixel = begin; pixel < end; ++pixel) {
        pace.step(channels);
        std::int32_t* row = out + pixel * channels;
        for (std::int64_t c = 0; c < channels; ++c) {
          row[c] -= zero_point * packed_->sums[static_cast<std::size_t>(c)];
        }
      }
    });
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return std::string(packed_->conv.kernel()); }

 private:
  std::shared_ptr<const PackedSums> packed_;
  ConvShape shape_;
  bool signed_;
  std::int64_t input_bytes_ = 0;
  std::int64_t workspace_ = 0;
  std::int64_t pixels_ = 0;
  std::int64_t macs_ = 0;
};

// A plain loop: each output element is one sum, which wraps around as ONNX allows.
class LoopProduct final : public Operator {
 public:
  using Sum = std::function<std::uint32_t(const Operands&, std::int64_t element)>;
  LoopProduct(Sum sum, std::int64_t elements, std::int64_t macs)
      : sum_(std::move(sum)), elements_(elements), macs_(macs) {}
  void run(const Operands& o) const override {
    auto* out = o.out<std::int32_t>(0);
    parallel_ranges(elements_, o.threads(), [&](std::int64_t begin, std::int64_t end, int) {
      StopPace pace;
      for (std::int64_t i = begin; i < end; ++i) {
        pace.step(macs_ / elements_);
        out[i] = static_cast<std::int32_t>(sum_(o, i));
      }
    });
  }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return "portable"; }

 private:
  Sum sum_;
  std::int64_t elements_;
  std::int64_t macs_;
};

std::uint32_t product(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b);
}

void check_types(const OpContext& op) {
  require_type(op, 0, ByteTypes{});
  require_type(op, 1, ByteTypes{});
  if (op.has_input(2)) require_same_type(op, 0, 2);
  if (op.has_input(3)) require_same_type(op, 1, 3);
}

// Throws unless the input is absent, a single zero point, or a list of `extent` zero points.
void check_zero_points(const OpContext& op, std::size_t input, std::int64_t extent) {
  if (!op.has_input(input)) return;
  const Shape& shape = op.input(input).shape;
  op.require(
      shape.elements() == 1 || (shape.rank() == 1 && shape[0] == extent),
      to_text("zero points of shape ", shape.to_string(), ", expected one or a list of ", extent));
}

std::vector<ValueInfo> infer_conv(const OpContext& op) {
  check_types(op);
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  op.require(x.rank() == 4 && w.rank() == 4,
             to_text("input ", x.to_string(), " and weight ", w.to_string(), ", expected images"));
  check_zero_points(op, 2, 1);
  check_zero_points(op, 3, w[0]);
  return {{DType::kInt32, resolve_conv(op, x, w).output}};
}

// Computes the sum of one output element of a convolution.
struct ConvLoop {
  Shape x, w, y;
  std::vector<std::int64_t> x_strides, w_strides;
  Window window;
  std::int64_t groups;
  Layout layout;

  std::uint32_t operator()(const Operands& o, std::int64_t element) const {
    const std::int64_t area = y[2] * y[3];
    const bool last = layout == Layout::kChannelsLast;
    const std::int64_t n = element / (area * y[1]);
    const std::int64_t rest = element % (area * y[1]);
    const std::int64_t m = last ? rest % y[1] : rest / area;
    const std::int64_t pixel = last ? rest / y[1] : rest % area;
    const Bytes input = Bytes::of(o.input(0));
    const Bytes weight = Bytes::of(o.input(1));
    const std::int32_t zx = ZeroPoints::of(o, 2).at(0);
    const std::int32_t zw = ZeroPoints::of(o, 3).at(m);
    const std::int64_t first = m / (w[0] / groups) * w[1];  // first input channel of the group
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < w[2]; ++i) {
      const std::int64_t row =
          pixel / y[3] * window.strides[0] - window.pads_begin[0] + i * window.dilations[0];
      if (row < 0 || row >= x[2]) continue;
      for (std::int64_t j = 0; j < w[3]; ++j) {
        const std::int64_t column =
            pixel % y[3] * window.strides[1] - window.pads_begin[1] + j * window.dilations[1];
        if (column < 0 || column >= x[3]) continue;
        const std::int64_t x_at =
            n * x_strides[0] + first * x_strides[1] + row * x_strides[2] + column * x_strides[3];
        const std::int64_t w_at = m * w_strides[0] + i * w_strides[2] + j * w_strides[3];
        for (std::int64_t k = 0; k < w[1]; ++k) {
          sum += product(input[x_at + k * x_strides[1]] - zx, weight[w_at + k * w_strides[1]] - zw);
        }
      }
    }
    return sum;
  }
};

std::unique_ptr<Operator> make_conv(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  const ConvGeometry conv = resolve_conv(op, x, w);
  const Window& window = conv.window;
  ConvWeights extents;
  extents.out_channels = w[0];
  extents.in_channels = x[1];
  extents.kernel_h = w[2];
  extents.kernel_w = w[3];
  extents.groups = conv.groups;
  // Folding runs on plain tensors; the kernels need channels-last.
  const bool in_order = op.input_layout(0) == Layout::kChannelsLast;
  const std::optional<Filters> filters = in_order ? filters_of(op, extents) : std::nullopt;
  if (filters) {
    ConvShape shape;
    set_window(x, window, shape);
    return std::make_unique<KernelProduct>(op, *filters, shape);
  }
  const std::int64_t elements = conv.output.elements();
  const std::int64_t macs = w[0] == 0 ? 0 : elements * (w.elements() / w[0]);
  return std::make_unique<LoopProduct>(
      ConvLoop{x, w, conv.output, strides_of(x, op.input_layout(0)),
               strides_of(w, op.input_layout(1)), window, conv.groups, op.output_layout(0)},
      elements, macs);
}

// Stacks of matrices by NumPy's rules. A vector becomes a matrix of one row (a) or of one column
// (b), and the output does not have that axis.
struct MatrixShapes {
  Shape a, b, y;
  Shape output;  // y without the axes added to vectors

  explicit MatrixShapes(const OpContext& op) : a(op.input(0).shape), b(op.input(1).shape) {
    op.require(a.rank() >= 1 && b.rank() >= 1,
               to_text("found ", a.to_string(), " and ", b.to_string(),
                       ", expected operands with at least one axis"));
    const bool row = a.rank() == 1;
    const bool column = b.rank() == 1;
    if (row) a = Shape{1, a[0]};
    if (column) b = Shape{b[0], 1};
    const std::int64_t k = a[a.rank() - 1];
    op.require(k == b[b.rank() - 2],
               to_text("cannot multiply ", a.to_string(), " by ", b.to_string()));
    const auto stack = [](const Shape& shape) {
      return Shape({shape.dims().begin(), shape.dims().end() - 2});
    };
    std::vector<std::int64_t> dims = broadcast(op, stack(a), stack(b)).dims();
    std::vector<std::int64_t> kept = dims;
    dims.push_back(a[a.rank() - 2]);
    dims.push_back(b[b.rank() - 1]);
    if (!row) kept.push_back(a[a.rank() - 2]);
    if (!column) kept.push_back(b[b.rank() - 1]);
    y = shape_of(op, std::move(dims));
    output = Shape(std::move(kept));
  }
};

std::vector<ValueInfo> infer_matmul(const OpContext& op) {
  check_types(op);
  const MatrixShapes shapes(op);
  check_zero_points(op, 2, shapes.y[shapes.y.rank() - 2]);
  check_zero_points(op, 3, shapes.y[shapes.y.rank() - 1]);
  return {{DType::kInt32, shapes.output}};
}

std::unique_ptr<Operator> make_matmul(const OpContext& op) {
  const MatrixShapes shapes(op);
  const std::int64_t k = shapes.a[shapes.a.rank() - 1];
  const std::int64_t n = shapes.b[shapes.b.rank() - 1];
  const bool one_input_zero = !op.has_input(2) || op.input(2).shape.elements() == 1;
  ConvWeights extents;
  extents.out_channels = n;
  extents.in_channels = k;
  if (shapes.b.rank() == 2 && one_input_zero) {
    if (const std::optional<Filters> filters = filters_of(op, extents)) {
      ConvShape shape;  // one pixel per row
      shape.in_w = shape.out_w = shapes.a.elements() / k;
      return std::make_unique<KernelProduct>(op, *filters, shape);
    }
  }
  const std::int64_t m = shapes.y[shapes.y.rank() - 2];
  const auto strides = [&](const Shape& shape) {  // strides of the stack axes, by result axis
    std::vector<std::int64_t> own = strides_of(shape, Layout::kPlain);
    std::vector<std::int64_t> wide(static_cast<std::size_t>(shapes.y.rank() - shape.rank()), 0);
    for (std::int64_t axis = 0; axis + 2 < shape.rank(); ++axis) {
      wide.push_back(shape[axis] == 1 ? 0 : own[static_cast<std::size_t>(axis)]);
    }
    return wide;
  };
  const auto sum = [y = shapes.y, k, m, n, a_strides = strides(shapes.a),
                    b_strides = strides(shapes.b)](const Operands& o, std::int64_t element) {
    const std::int64_t row = element / n % m;
    const std::int64_t column = element % n;
    std::int64_t a_at = row * k;
    std::int64_t b_at = column;
    std::int64_t rest = element / (m * n);
    for (std::size_t axis = a_strides.size(); axis-- > 0;) {
      const std::int64_t index = rest % y[static_cast<std::int64_t>(axis)];
      rest /= y[static_cast<std::int64_t>(axis)];
      a_at += index * a_strides[axis];
      b_at += index * b_strides[axis];
    }
    const Bytes a = Bytes::of(o.input(0));
    const Bytes b = Bytes::of(o.input(1));
    const std::int32_t za = ZeroPoints::of(o, 2).at(row);
    const std::int32_t zb = ZeroPoints::of(o, 3).at(column);
    std::uint32_t total = 0;
    for (std::int64_t i = 0; i < k; ++i) total += product(a[a_at + i] - za, b[b_at + i * n] - zb);
    return total;
  };
  return std::make_unique<LoopProduct>(sum, shapes.y.elements(), shapes.y.elements() * k);
}

}  // namespace

OpDef op_ConvInteger() { return {infer_conv, make_conv, LayoutRule::kChannelsLast}; }
OpDef op_MatMulInteger() { return {infer_matmul, make_matmul, LayoutRule::kPlain}; }

}  // namespace qtool
