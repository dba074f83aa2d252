// Integer transposed convolution with constant weights. Made by lowering:
//   QConvTranspose(x u8, w s8 [M, C/g, kh, kw], bias i32)
// with QProductParams. Outputs whose rows and columns have the same residues modulo the strides see
// the same taps at neighbouring inputs: they are an ordinary convolution of stride 1. So the
// kernels of QConv compute it, residue by residue, without an intermediate result and with every
// sum exact.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/text.h"
#include "ops/packed_product.h"
#include "ops/spatial.h"

namespace qtool {
namespace {

// The outputs r + stride q, q in [0, count), along one axis. Tap taps[t] reads input
// q - pad + t dilation.
struct Residue {
  std::int64_t count = 0;
  std::int64_t pad = 0;
  std::int64_t dilation = 1;
  std::vector<std::int64_t> taps;  ///< none: only the bias gets there
};

Residue residue_of(const Window& window, std::size_t axis, std::int64_t r) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t dilation = window.dilations[axis];
  Residue residue;
  residue.count = std::max<std::int64_t>(0, ceil_div(window.output[axis] - r, stride));
  // Tap k reads input (r + pads_begin - k dilation) / stride + q, where that is an integer.
  const std::int64_t first = r + window.pads_begin[axis];
  for (std::int64_t k = window.kernel[axis]; k-- > 0;) {
    if ((first - k * dilation) % stride == 0) residue.taps.push_back(k);
  }
  if (residue.taps.empty()) return residue;
  residue.pad = (residue.taps[0] * dilation - first) / stride;
  residue.dilation = dilation / std::gcd(dilation, stride);
  return residue;
}

// The weights of two residues' taps; one of real value 0 where there are none.
std::vector<std::int8_t> weights_of(const OpContext& op, const Residue& rows,
                                    const Residue& columns) {
  const Shape& shape = op.input(1).shape;
  const auto values = op.constant(1)->values<std::int8_t>();
  const auto zero_points = op.params<QProductParams>().weight_zero_points->values<std::int32_t>();
  std::vector<std::int8_t> picked;
  for (std::int64_t filter = 0; filter < shape[0] * shape[1]; ++filter) {
    if (rows.taps.empty() || columns.taps.empty()) {
      const auto channel = static_cast<std::size_t>(filter / shape[1]);
      picked.push_back(
          static_cast<std::int8_t>(zero_points[zero_points.size() == 1 ? 0 : channel]));
      continue;
    }
    for (const std::int64_t i : rows.taps) {
      for (const std::int64_t j : columns.taps) {
        picked.push_back(values[static_cast<std::size_t>((filter * shape[2] + i) * shape[3] + j)]);
      }
    }
  }
  return picked;
}

ConvGeometry geometry_of(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  op.require(x.rank() == 4 && w.rank() == 4, "only images have an integer transposed convolution");
  const std::int64_t groups = std::max<std::int64_t>(1, op.node.get_int("group", 1));
  return resolve_conv_transpose(op, x, {w[1] * groups, w[0] / groups, w[2], w[3]});
}

class QuantizedConvTranspose final : public Operator {
 public:
  explicit QuantizedConvTranspose(const OpContext& op)
      : QuantizedConvTranspose(op, geometry_of(op)) {}

  void run(const Operands& o) const override {
    const auto* input = o.in<std::uint8_t>(0);
    std::byte* output =
        fixed_ ? o.workspace() : reinterpret_cast<std::byte*>(o.out<std::uint8_t>(0));
    std::byte* const scratch = o.workspace() + sum_bytes_;
    parallel_ranges(batch_ * out_h_, o.threads(),
                    [&](std::int64_t from, std::int64_t to, int worker) {
                      for (std::int64_t row = from; row < to; ++row) {
                        run_row(input, row, output, scratch + worker * scratch_bytes_);
                      }
                    });
    if (!fixed_) return;
    fixed_->run(batch_ * out_h_ * out_w_, reinterpret_cast<const std::int32_t*>(output), nullptr,
                o.out<std::uint8_t>(0), o.threads());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return label_; }

 private:
  // The convolution of one pair of residues, for one row of output.
  struct Phase {
    std::shared_ptr<const PackedConv> conv;
    ConvShape shape;  // pad_top is that of q = 0
    bool one_row;     // of taps
  };

  QuantizedConvTranspose(const OpContext& op, const ConvGeometry& conv)
      : strides_(conv.window.strides),
        batch_(conv.output[0]),
        in_bytes_(op.input(0).shape.elements() / batch_),
        row_bytes_(in_bytes_ / op.input(0).shape[2]),
        out_h_(conv.output[2]),
        out_w_(conv.output[3]) {
    const Shape& x = op.input(0).shape;
    const std::int64_t channels = conv.output[1];
    element_ = (product_type(op) == DType::kUInt8 && !requantizes_sums(op) ? 1 : 4) * channels;
    macs_ = x.elements() / x[1] * op.input(1).shape.elements();
    for (std::int64_t i = 0; i < std::min(strides_[0], out_h_); ++i) {
      const Residue rows = residue_of(conv.window, 0, i);
      for (std::int64_t j = 0; j < std::min(strides_[1], out_w_); ++j) {
        add(op, conv, rows, residue_of(conv.window, 1, j),
            concat("phase ", i, " ", j, " of ", strides_[0], " ", strides_[1], " ",
                   conv.window.dilations[0], " ", conv.window.dilations[1], " ",
                   conv.window.pads_begin[0] % strides_[0], " ",
                   conv.window.pads_begin[1] % strides_[1]));
      }
    }
    if (requantizes_sums(op)) {
      fixed_ = std::make_unique<FixedOutput>(fixed_output(op, channels));
      sum_bytes_ = align_up(batch_ * out_h_ * out_w_ * element_);
    }
    label_ = kernel_label(phases_.front().conv->kernel(), op.requantization);
    workspace_ = sum_bytes_ + scratch_bytes_ * std::max(op.threads, 1);
  }

  void add(const OpContext& op, const ConvGeometry& conv, const Residue& rows,
           const Residue& columns, const std::string& part) {
    const Shape& x = op.input(0).shape;
    const bool taps = !rows.taps.empty() && !columns.taps.empty();
    const auto count = [&](const Residue& residue) {
      return taps ? static_cast<std::int64_t>(residue.taps.size()) : 1;
    };
    const ProductExtents extents{conv.output[1], x[1], count(rows), count(columns), conv.groups};
    Phase phase;
    phase.conv = pack_product(op, extents, part, weights_of(op, rows, columns));
    phase.one_row = extents.kernel_h == 1;
    phase.shape.in_h = x[2];
    phase.shape.in_w = x[3];
    phase.shape.out_w = columns.count;
    phase.shape.dilation_h = rows.dilation;
    phase.shape.dilation_w = columns.dilation;
    phase.shape.pad_top = rows.pad;
    phase.shape.pad_left = columns.pad;
    phase.shape.out_pixel_stride = strides_[1] * conv.output[1];
    scratch_bytes_ =
        std::max(scratch_bytes_, align_up(phase.conv->workspace_bytes(phase.shape, 1)));
    phases_.push_back(std::move(phase));
  }

  void run_row(const std::uint8_t* input, std::int64_t row, std::byte* output,
               std::byte* scratch) const {
    const std::int64_t y = row % out_h_;
    const std::int64_t across = std::min(strides_[1], out_w_);
    input += row / out_h_ * in_bytes_;
    output += row * out_w_ * element_;
    for (std::int64_t j = 0; j < across; ++j, output += element_) {
      const Phase& phase = phases_[static_cast<std::size_t>(y % strides_[0] * across + j)];
      ConvShape shape = phase.shape;
      shape.pad_top -= y / strides_[0];
      const std::uint8_t* from = input;
      if (phase.one_row && shape.pad_top <= 0 && -shape.pad_top < shape.in_h) {
        from += -shape.pad_top * row_bytes_;  // a row by itself may need no table of pixels
        shape.pad_top = 0;
        shape.in_h = 1;
      }
      phase.conv->run(shape, from, output, scratch, 1);
    }
  }

  std::vector<std::int64_t> strides_;
  std::int64_t batch_;
  std::int64_t in_bytes_;   // of an image
  std::int64_t row_bytes_;  // of one of its rows
  std::int64_t out_h_;
  std::int64_t out_w_;
  std::int64_t element_ = 0;   // bytes of an output pixel, as the kernel writes it
  std::vector<Phase> phases_;  // by residue of the row, then of the column
  std::unique_ptr<FixedOutput> fixed_;
  std::string label_;
  std::int64_t sum_bytes_ = 0;
  std::int64_t scratch_bytes_ = 0;  // of one worker
  std::int64_t workspace_ = 0;
  std::int64_t macs_ = 0;
};

}  // namespace

OpDef op_QConvTranspose() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{product_type(op), geometry_of(op).output}};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<QuantizedConvTranspose>(op);
          },
          LayoutRule::kChannelsLast};
}

}  // namespace qtool
