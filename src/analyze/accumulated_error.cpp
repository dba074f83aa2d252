#include "analyze/accumulated_error.h"

#include <cstdint>
#include <utility>

#include "compare/tensor_counterpart.h"
#include "quantize/rewrites/scaled_channels.h"

namespace qtool {
namespace {

/// Dequantizes the elements in the order of memory.
template <typename Integer>
void dequantize(std::span<const Integer> integers, const Affine& affine, std::vector<float>& out) {
  out.resize(integers.size());
  for (std::size_t i = 0; i < integers.size(); ++i) {
    out[i] = affine.scale *
             static_cast<float>(static_cast<std::int32_t>(integers[i]) - affine.zero_point);
  }
}

/// False for types that activations do not have.
bool dequantize(const TensorView& integers, const Affine& affine, std::vector<float>& out) {
  switch (integers.dtype) {
    case DType::kUInt8:
      dequantize(integers.values<std::uint8_t>(), affine, out);
      return true;
    case DType::kInt8:
      dequantize(integers.values<std::int8_t>(), affine, out);
      return true;
    case DType::kUInt16:
      dequantize(integers.values<std::uint16_t>(), affine, out);
      return true;
    case DType::kInt16:
      dequantize(integers.values<std::int16_t>(), affine, out);
      return true;
    default:
      return false;
  }
}

}  // namespace

AccumulatedErrors::AccumulatedErrors(const Executor& fp32, const Executor& int8,
                                     const std::vector<QuantizedActivation>& activations,
                                     const InputShapes& shapes)
    : activations_(activations), observed_(activations.size()) {
  CompileOptions compile;
  compile.threads = 1;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    std::optional<Counterpart> found =
        counterpart_of(int8.graph(), activations[i].tensor, fp32.graph());
    if (!found || !found->affines || !found->affines->per_tensor()) continue;
    observed_[i] = {compile.observe.size(), found->name, *std::move(found->affines)};
    compile.observe.push_back(std::move(found->name));
    activation_of_.push_back(i);
  }
  plan_ = int8.compile(shapes, compile);
}

std::span<const TensorView> AccumulatedErrors::run(std::span<const TensorView> inputs,
                                                   std::size_t image,
                                                   std::span<const TensorView> reals,
                                                   Workspace& workspace, Sums& sums) const {
  sums.tensors.assign(activations_.size(), {});
  if (image < kPairImages) sums.pairs.resize(activations_.size());
  std::vector<float> values;
  return plan_->run(inputs, workspace, [&](std::size_t index, const TensorView& integers) {
    const std::size_t activation = activation_of_[index];
    const Observed& observed = *observed_[activation];
    TensorView real = reals[activation];
    TensorView held = integers;
    Tensor plain_real;
    Tensor plain_held;
    if (real.layout != held.layout) {
      plain_real = to_tensor(real);
      plain_held = to_tensor(held);
      real = plain_real;
      held = plain_held;
    }
    if (real.shape != held.shape || !dequantize(held, observed.affines.at(0), values)) return;
    const ChannelScaling& divided = activations_[activation].divided;
    if (!divided.factors.empty()) scale_channels(real, observed.name, divided, values.data());
    const std::span<const float> expected = real.values<float>();
    sums.tensors[activation] = sqnr_sums(expected, values);
    if (image >= kPairImages) return;
    for (const std::size_t i : picked(values.size(), image)) {
      sums.pairs[activation].push_back({expected[i], values[i]});
    }
  });
}

}  // namespace qtool
