#include "quantize/follow_plan.h"

#include <map>

#include "base/text.h"

namespace qtool {

std::string no_kernel(std::string_view op_type) {
  return to_text("no integer kernel for this ", op_type);
}

const std::string& label_of(const StepInfo& step) {
  return step.node.empty() ? step.output : step.node;
}

void follow_plan(const std::vector<StepInfo>& steps, QuantizeReport& report) {
  std::map<std::string_view, NodeReport*> nodes;  // null where two nodes have the same name
  for (NodeReport& node : report.nodes) {
    const auto [it, fresh] = nodes.try_emplace(node.node, &node);
    if (!fresh) it->second = nullptr;
  }
  for (const StepInfo& step : steps) {
    const auto found = nodes.find(label_of(step));
    if (found == nodes.end() || found->second == nullptr) continue;
    NodeReport& node = *found->second;
    if (node.role == NodeRole::kNotReal || step.op_type != node.op_type) continue;
    const bool reported_integer = node.role != NodeRole::kFloat;
    if (reported_integer == step.integer) continue;
    node.role = step.integer ? NodeRole::kInteger : NodeRole::kFloat;
    node.reason = step.integer ? std::string() : no_kernel(step.op_type);
  }
}

}  // namespace qtool
