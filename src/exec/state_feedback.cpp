#include "exec/state_feedback.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

std::size_t port_named(std::span<const PortInfo> ports, const std::string& name,
                       std::string_view kind) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const PortInfo& port) { return port.name == name; });
  if (found == ports.end()) {
    throw Error(ErrorCode::kUsage, to_text("state: the network has no ", kind, " '", name, "'"));
  }
  return static_cast<std::size_t>(found - ports.begin());
}

}  // namespace

StateFeedback::StateFeedback(const Samples& samples, const Plan& plan) : samples_(samples) {
  for (const StateFeed& state : samples.states()) {
    const std::size_t input = port_named(plan.inputs(), state.input, "input");
    const std::size_t output = port_named(plan.outputs(), state.output, "output");
    const PortInfo& to = plan.inputs()[input];
    const PortInfo& from = plan.outputs()[output];
    if (from.dtype != to.dtype || from.shape != to.shape) {
      throw Error(ErrorCode::kMismatch,
                  to_text("state: output '", from.name, "' is ", name_of(from.dtype), " ",
                          from.shape.to_string(), ", input '", to.name, "' takes ",
                          name_of(to.dtype), " ", to.shape.to_string()));
    }
    states_.push_back({input, output, Tensor(to.dtype, to.shape)});
  }
}

std::vector<TensorView> StateFeedback::inputs(std::int64_t item, std::span<const Tensor> sample) {
  std::vector<TensorView> views(sample.begin(), sample.end());
  for (State& state : states_) {
    if (samples_.begins(item)) {
      std::fill_n(state.tensor.data(), state.tensor.bytes(), std::byte{0});
    }
    views[state.input] = state.tensor;
  }
  return views;
}

void StateFeedback::keep(std::span<const TensorView> outputs) {
  for (State& state : states_) {
    std::memcpy(state.tensor.data(), outputs[state.output].data,
                static_cast<std::size_t>(state.tensor.bytes()));
  }
}

}  // namespace qtool
