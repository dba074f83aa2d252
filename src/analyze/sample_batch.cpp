#include "analyze/sample_batch.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compare/model_pair.h"
#include "qtool/base/error.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

// Results of samples that run together differ in their last bits from those of one alone.
constexpr float kEqualTogether = 1e-3F;

bool begins_with(const PortInfo& together, const PortInfo& single) {
  if (single.shape.rank() == 0 || together.shape.rank() != single.shape.rank()) return false;
  std::vector<std::int64_t> dims = single.shape.dims();
  dims.front() *= kRunTogether;
  return together.shape == Shape(dims);
}

bool all_begin_with(const std::vector<PortInfo>& together, const std::vector<PortInfo>& single) {
  return std::ranges::equal(together, single, begins_with);
}

/// Samples that differ in size, in sign and from element to element, so that a network that mixes
/// samples, by a mean or by a maximum, gives at least one of them other results.
std::vector<LoadedSample> varied(std::span<const Tensor> sample) {
  constexpr float kFactors[] = {0.6F, 1.0F, 1.9F, -0.7F};
  static_assert(std::size(kFactors) == kRunTogether);
  std::vector<LoadedSample> samples;
  for (std::size_t slot = 0; slot < kRunTogether; ++slot) {
    LoadedSample& one = samples.emplace_back();
    for (const Tensor& tensor : sample) {
      one.tensors.push_back(tensor.clone());
      const std::span<float> values = one.tensors.back().values<float>();
      float largest = 0.0F;
      for (const float value : values) largest = std::max(largest, std::abs(value));
      // A black image has values too.
      const float most = largest > 0.0F ? 0.1F * largest : 1.0F;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto place = static_cast<float>((i * 31 + slot * 17) % 97) / 96.0F - 0.5F;
        values[i] = (values[i] + most * place) * kFactors[slot];
      }
    }
  }
  return samples;
}

/// Whether a sample has the same results together with others, in `slot`, as alone.
bool are_equal(std::span<const TensorView> together, std::size_t slot,
               std::span<const TensorView> alone) {
  const std::vector<TensorView> own = slots_of(together, slot, kRunTogether);
  const FloatOutputs found(own);
  const FloatOutputs expected(alone);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    float largest = 0.0F;
    for (const float value : expected[o]) largest = std::max(largest, std::abs(value));
    const bool equal = std::ranges::equal(found[o], expected[o], [&](float a, float b) {
      return std::abs(a - b) <= kEqualTogether * largest;
    });
    if (!equal) return false;
  }
  return true;
}

/// Whether samples that run together have the results that each has alone.
bool are_apart(const Plan& together, const Plan& single, std::span<const Tensor> sample) {
  const std::vector<LoadedSample> samples = varied(sample);
  const std::vector<Tensor> inputs = stacked(samples);
  Workspace shared;
  Workspace own;
  const auto found = together.run(views_of(inputs), shared);
  for (std::size_t slot = 0; slot < samples.size(); ++slot) {
    if (!are_equal(found, slot, single.run(views_of(samples[slot].tensors), own))) return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<const Plan> together_plan(const Executor& network, const CompileOptions& compile,
                                          const Plan& single, std::span<const Tensor> sample) {
  if (single.arena_bytes() > kMostBytesTogether / kRunTogether) return nullptr;
  for (const Tensor& tensor : sample) {
    const Shape& shape = tensor.shape();
    if (tensor.dtype() != DType::kFloat32 || shape.rank() == 0 || shape[0] != 1) return nullptr;
  }
  InputShapes shapes;
  for (const PortInfo& port : single.inputs()) {
    shapes.emplace(port.name, batch_shape(port.shape, kRunTogether));
  }
  try {
    std::shared_ptr<const Plan> plan = network.compile(shapes, compile);
    if (plan->arena_bytes() > kMostBytesTogether ||
        !all_begin_with(plan->observed(), single.observed()) ||
        !all_begin_with(plan->outputs(), single.outputs())) {
      return nullptr;
    }
    return are_apart(*plan, single, sample) ? plan : nullptr;
  } catch (const Error& error) {  // the network takes other shapes only
    if (error.code() == ErrorCode::kCancelled) throw;
    return nullptr;
  }
}

std::vector<Tensor> stacked(std::span<const LoadedSample> samples) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < samples.front().tensors.size(); ++i) {
    const Tensor& first = samples.front().tensors[i];
    Tensor all(first.dtype(), batch_shape(first.shape(), std::ssize(samples)));
    std::byte* to = all.data();
    for (const LoadedSample& sample : samples) {
      const auto bytes = static_cast<std::size_t>(sample.tensors[i].bytes());
      std::memcpy(to, sample.tensors[i].data(), bytes);
      to += bytes;
    }
    inputs.push_back(std::move(all));
  }
  return inputs;
}

TensorView slot_of(const TensorView& tensor, std::size_t slot, std::size_t count) {
  if (count == 1) return tensor;
  std::vector<std::int64_t> dims = tensor.shape.dims();
  dims.front() /= static_cast<std::int64_t>(count);
  TensorView part(tensor.data, tensor.dtype, Shape(dims), tensor.layout);
  part.data += static_cast<std::int64_t>(slot) * part.shape.elements() * size_of(part.dtype);
  return part;
}

std::vector<TensorView> slots_of(std::span<const TensorView> tensors, std::size_t slot,
                                 std::size_t count) {
  std::vector<TensorView> parts;
  for (const TensorView& tensor : tensors) parts.push_back(slot_of(tensor, slot, count));
  return parts;
}

}  // namespace qtool
