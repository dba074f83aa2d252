#include "small_run.h"

#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace qtool::fuzz {
namespace {

// Floats from -4 to 3.5, int64 and int32 from -8 to 7, bytes spread over their whole range, both
// values of a condition, and zeros for all other types.
Tensor values_of(const PortInfo& port) {
  Tensor tensor(port.dtype, port.shape);
  for (std::int64_t i = 0; i < port.shape.elements(); ++i) {
    const std::int64_t step = (i * 7 + 3) % 16;
    const auto at = static_cast<std::size_t>(i);
    switch (port.dtype) {
      case DType::kFloat32:
        tensor.values<float>()[at] = static_cast<float>(step - 8) / 2.0F;
        break;
      case DType::kFloat64:
        tensor.values<double>()[at] = static_cast<double>(step - 8) / 2.0;
        break;
      case DType::kInt64:
        tensor.values<std::int64_t>()[at] = step - 8;
        break;
      case DType::kInt32:
        tensor.values<std::int32_t>()[at] = static_cast<std::int32_t>(step - 8);
        break;
      case DType::kBool:
        tensor.data()[i] = static_cast<std::byte>(step % 2);
        break;
      case DType::kUInt8:
      case DType::kInt8:
        tensor.data()[i] = static_cast<std::byte>(step * 16 + 5);
        break;
      default:
        break;  // zeros
    }
  }
  return tensor;
}

// Keeps the compiler from removing the reads of the outputs.
volatile unsigned touched = 0;

}  // namespace

StopCheck stop_soon() {
  return [end = std::clock() + 5 * CLOCKS_PER_SEC] { return std::clock() >= end; };
}

InputShapes closed_shapes(const Graph& graph) {
  InputShapes shapes;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    std::vector<std::int64_t> dims;
    for (const Dim& dim : input.shape.value_or(std::vector<Dim>())) {
      dims.push_back(dim.size.value_or(2));
    }
    shapes.emplace(input.name, Shape(std::move(dims)));
  }
  return shapes;
}

void run_small(const Executor& executor, const InputShapes& shapes, const CompileOptions& options) {
  std::shared_ptr<const Plan> compiled;
  try {
    compiled = executor.compile(shapes, options);
  } catch (const std::bad_alloc&) {
    return;
  }
  const Plan& plan = *compiled;
  if (plan.arena_bytes() > kMaxArena) return;
  for (const PortInfo& port : plan.inputs()) {
    if (port.shape.elements() > kMaxElements) return;
  }
  std::int64_t macs = 0;
  for (const StepInfo& step : plan.steps()) {
    if (step.macs > kMaxMacs - macs) return;
    macs += step.macs;
  }
  std::vector<Tensor> tensors;
  for (const PortInfo& port : plan.inputs()) tensors.push_back(values_of(port));
  const std::vector<TensorView> views(tensors.begin(), tensors.end());
  Workspace workspace;
  unsigned sum = 0;
  for (const TensorView& output : plan.run(views, workspace)) {
    const std::int64_t bytes = output.shape.elements() * size_of(output.dtype);
    for (std::int64_t i = 0; i < bytes; ++i) sum += static_cast<unsigned>(output.data[i]);
  }
  touched = sum;
}

}  // namespace qtool::fuzz
