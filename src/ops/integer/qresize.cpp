// Linear interpolation between the elements of u8 rows, images and volumes, made by lowering:
// QResize, with the inputs and attributes of a Resize and QAverageParams.
#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/round_to_u8.h"
#include "ops/infer_rules.h"
#include "ops/integer/volume/volume.h"
#include "ops/operator.h"
#include "ops/resize_options.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// Each interpolation is a sum of two float products, each rounded. The order of the operations
// depends neither on threads nor on the instruction set: first along the column, then along the
// row, then one product with s_x / s_y.
class QuantizedResize final : public Operator {
 public:
  explicit QuantizedResize(const OpContext& op)
      : params_(op.params<QAverageParams>()), in_(op.input(0).shape), threads_(op.threads) {
    const ResizeOptions options = resize_options(op);
    const std::vector<AxisScaling> scaling = resize_scaling(op, options);
    rows_ = linear_positions(op, options, scaling[2]);
    columns_ = linear_positions(op, options, scaling[3]);
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return std::max(threads_, 1) * row_elements() * std::int64_t{sizeof(float)};
  }
  [[nodiscard]] std::string kernel() const override { return "portable"; }

  void run(const Operands& o) const override {
    const std::int64_t channels = in_[1];
    const auto out_row = std::ssize(columns_) * channels;
    const std::int64_t rows = in_[0] * std::ssize(rows_);
    auto* lines = reinterpret_cast<float*>(o.workspace());
    parallel_ranges(rows, rows * out_row < kParallelElements ? 1 : o.threads(),
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      float* line = lines + worker * row_elements();
                      StopPace pace;
                      for (std::int64_t row = begin; row < end; ++row) {
                        pace.step(row_elements() + out_row);
                        const std::int64_t image = row / std::ssize(rows_);
                        const Between& y = rows_[static_cast<std::size_t>(row % std::ssize(rows_))];
                        const auto* x = o.in<std::uint8_t>(0) + image * in_[2] * row_elements();
                        blend_rows(x, y, line);
                        blend_columns(line, o.out<std::uint8_t>(0) + row * out_row);
                      }
                    });
  }

 private:
  [[nodiscard]] std::int64_t row_elements() const { return in_[3] * in_[1]; }

  void blend_rows(const std::uint8_t* image, const Between& y, float* line) const {
    const std::uint8_t* a = image + y.low * row_elements();
    const std::uint8_t* b = image + y.high * row_elements();
    const std::int32_t zero = params_.input.zero_point;
    const std::int64_t count = row_elements();
    for (std::int64_t i = 0; i < count; ++i) {
      line[i] = static_cast<float>(a[i] - zero) * y.low_weight +
                static_cast<float>(b[i] - zero) * y.high_weight;
    }
  }

  void blend_columns(const float* line, std::uint8_t* out) const {
    const QuantizedResult& y = *params_.result;
    const float m = params_.input.scale / y.affine.scale;
    const std::int64_t channels = in_[1];
    for (const Between& x : columns_) {
      const float* a = line + x.low * channels;
      const float* b = line + x.high * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        const float sum = a[c] * x.low_weight + b[c] * x.high_weight;
        out[c] = round_to_u8(sum * m, y.affine.zero_point, y.low, y.high);
      }
      out += channels;
    }
  }

  QAverageParams params_;
  Shape in_;
  int threads_;
  std::vector<Between> rows_;
  std::vector<Between> columns_;
};

std::vector<ValueInfo> infer_qresize(const OpContext& op) {
  op.require(can_resize_bytes(op),
             "only spatial axes, at most three, are interpolated on integers");
  std::vector<std::int64_t> dims;
  for (const AxisScaling& axis : resize_scaling(op, resize_options(op))) dims.push_back(axis.to);
  return {{DType::kUInt8, shape_of(op, std::move(dims))}};
}

std::unique_ptr<Operator> make_qresize(const OpContext& op) {
  if (op.input(0).shape.rank() != 4) return make_volume_resize(op);
  return std::make_unique<QuantizedResize>(op);
}

}  // namespace

OpDef op_QResize() { return {infer_qresize, make_qresize, LayoutRule::kImages}; }

}  // namespace qtool
