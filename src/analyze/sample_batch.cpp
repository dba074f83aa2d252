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

/// The sample, and others that differ from it.
std::vector<LoadedSample> varied(std::span<const Tensor> sample) {
  std::vector<LoadedSample> samples;
  for (std::int64_t i = 0; i < kRunTogether; ++i) {
    LoadedSample& one = samples.emplace_back();
    for (const Tensor& tensor : sample) {
      one.tensors.push_back(tensor.clone());
      const float factor = 1.0F - 0.3F * static_cast<float>(i);
      for (float& value : one.tensors.back().values<float>()) value *= factor;
    }
  }
  return samples;
}

/// Whether the first of the samples that run together has the results that it has alone.
bool are_apart(std::span<const TensorView> together, std::span<const TensorView> alone) {
  const std::vector<TensorView> first = slots_of(together, 0, kRunTogether);
  const FloatOutputs found(first);
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
  std::shared_ptr<const Plan> plan;
  try {
    plan = network.compile(shapes, compile);
  } catch (const Error& error) {  // the network declares other shapes
    if (error.code() == ErrorCode::kCancelled) throw;
    return nullptr;
  }
  if (plan->arena_bytes() > kMostBytesTogether ||
      !all_begin_with(plan->observed(), single.observed()) ||
      !all_begin_with(plan->outputs(), single.outputs())) {
    return nullptr;
  }
  Workspace alone;
  Workspace together;
  const std::vector<Tensor> inputs = stacked(varied(sample));
  const auto found = plan->run(views_of(inputs), together);
  return are_apart(found, single.run(views_of(sample), alone)) ? plan : nullptr;
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
