// Pooling of u8 images and volumes, made by lowering. QGlobalAveragePool without a result gives
// float32.
#include <algorithm>

#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/pool/pool.h"
#include "ops/byte_pool.h"
#include "ops/integer/fixed_point.h"
#include "ops/integer/volume/volume.h"
#include "ops/operator.h"
#include "ops/spatial.h"

namespace qtool {
namespace {

AverageParams average_params(const OpContext& op) {
  const auto& [x, result] = op.params<QAverageParams>();
  const QuantizedResult& y = result.value();
  AverageParams params;
  params.m = x.scale / y.affine.scale;
  params.zx = x.zero_point;
  params.zy = y.affine.zero_point;
  params.low = y.low;
  params.high = y.high;
  if (op.node.get_int("count_include_pad", 0) != 0) params.count_padding = CountPadding::kInclude;
  return params;
}

// Runs FixedAverage of fixed_point.h instead of the kernel.
std::unique_ptr<Operator> make_fixed_pool(const OpContext& op, const PoolShape& shape) {
  const auto& [x, result] = op.params<QAverageParams>();
  const AverageParams params = average_params(op);
  return make_operator(
      [average = FixedAverage(op.requantization, shape, x, result->affine,
                              {params.low, params.high}, params.count_padding)](const Operands& o) {
        average.run(o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads());
      },
      kernel_label("portable", op.requantization));
}

std::vector<ValueInfo> infer_window(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  op.require((x.rank() == 4 || x.rank() == 5) && x.elements() > 0,
             "only images and volumes have an integer pool");
  return {{DType::kUInt8, pooled_shape(x, resolve_window(op, x, {}))}};
}

std::unique_ptr<Operator> make_qmax_pool(const OpContext& op) {
  if (op.input(0).shape.rank() == 5) return make_volume_max(op);
  return make_byte_max_pool(op, resolve_window(op, op.input(0).shape, {}));
}

std::unique_ptr<Operator> make_qaverage_pool(const OpContext& op) {
  if (op.input(0).shape.rank() == 5) return make_volume_average(op);
  const PoolShape shape = pool_shape(op, resolve_window(op, op.input(0).shape, {}));
  if (op.requantization != Requantization::kFloat) return make_fixed_pool(op, shape);
  return make_operator(
      [shape, params = average_params(op), kernel = PoolKernel()](const Operands& o) {
        kernel.average(shape, params, o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads());
      },
      PoolKernel().kernel());
}

std::vector<ValueInfo> infer_global(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  op.require(x.rank() == 4 && x.elements() > 0, "only images have an integer pool");
  return {{op.params<QAverageParams>().result ? DType::kUInt8 : DType::kFloat32,
           Shape{x[0], x[1], 1, 1}}};
}

// The exact integer sum of each channel, then one float multiplication by s / pixels.
void global_average(const std::uint8_t* in, float* out, std::int64_t pixels, std::int64_t channels,
                    const Affine& affine) {
  constexpr std::int64_t kSumBlock = 64;
  const float scale = affine.scale / static_cast<float>(pixels);
  StopPace pace;
  for (std::int64_t first = 0; first < channels; first += kSumBlock) {
    const std::int64_t count = std::min(kSumBlock, channels - first);
    std::int64_t sums[kSumBlock] = {};
    // Sums of 2^23 bytes fit into int32; larger images are added up in pieces.
    for (std::int64_t start = 0; start < pixels; start += std::int64_t{1} << 23) {
      const std::int64_t end = std::min(pixels, start + (std::int64_t{1} << 23));
      std::int32_t partial[kSumBlock] = {};
      pace.step((end - start) * count);
      for (std::int64_t p = start; p < end; ++p) {
        const std::uint8_t* row = in + p * channels + first;
        for (std::int64_t c = 0; c < count; ++c) partial[c] += row[c];
      }
      for (std::int64_t c = 0; c < count; ++c) sums[c] += partial[c];
    }
    for (std::int64_t c = 0; c < count; ++c) {
      out[first + c] = static_cast<float>(sums[c] - pixels * affine.zero_point) * scale;
    }
  }
}

std::unique_ptr<Operator> make_global(const OpContext& op) {
  const Shape x = op.input(0).shape;
  if (op.params<QAverageParams>().result) {
    Window window;
    window.kernel = {x[2], x[3]};
    window.strides = window.dilations = window.output = {1, 1};
    window.pads_begin = window.pads_end = {0, 0};
    if (op.requantization != Requantization::kFloat)
      return make_fixed_pool(op, pool_shape(op, window));
    return make_operator(
        [shape = pool_shape(op, window), params = average_params(op),
         kernel = PoolKernel()](const Operands& o) {
          kernel.average(shape, params, o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads());
        },
        PoolKernel().kernel());
  }
  return make_operator(
      [x, affine = op.params<QAverageParams>().input](const Operands& o) {
        const std::int64_t pixels = x[2] * x[3];
        for (std::int64_t n = 0; n < x[0]; ++n) {
          global_average(o.in<std::uint8_t>(0) + n * pixels * x[1], o.out<float>(0) + n * x[1],
                         pixels, x[1], affine);
        }
      },
      "sum");
}

}  // namespace

OpDef op_QMaxPool() { return {infer_window, make_qmax_pool, LayoutRule::kImages}; }
OpDef op_QAveragePool() { return {infer_window, make_qaverage_pool, LayoutRule::kImages}; }
OpDef op_QGlobalAveragePool() { return {infer_global, make_global, LayoutRule::kImages}; }

}  // namespace qtool
