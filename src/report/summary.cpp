#include "report/summary.h"

#include <algorithm>

#include "base/saturate.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/obstacles.h"

namespace qtool {
namespace {

std::string extent(const Dim& dim) {
  if (dim.size) return to_text(*dim.size);
  return dim.symbol.empty() ? std::string("?") : dim.symbol;
}

PortSummary describe_port(const Value& value) {
  PortSummary port;
  port.name = value.name;
  port.type = value.dtype ? std::string(name_of(*value.dtype)) : std::string("?");
  std::string extents;
  if (value.shape) {
    for (const Dim& dim : *value.shape) extents += concat(extents.empty() ? "" : ", ", extent(dim));
  }
  port.shape = value.shape ? concat("[", extents, "]") : std::string("?");
  return port;
}

}  // namespace

bool ModelSummary::supported() const {
  return std::ranges::all_of(operators, &OperatorCount::supported);
}

ModelSummary summarize(const Graph& graph) {
  ModelSummary summary;
  summary.producer = graph.info.producer_name;
  if (!graph.info.producer_version.empty()) {
    summary.producer += concat(" ", graph.info.producer_version);
  }
  const auto opset = graph.info.opsets.find("");
  if (opset != graph.info.opsets.end()) summary.opset = opset->second;
  summary.metadata = graph.info.metadata;
  for (const ValueId id : graph.inputs()) summary.inputs.push_back(describe_port(graph.value(id)));
  for (const ValueId id : graph.outputs()) {
    summary.outputs.push_back(describe_port(graph.value(id)));
  }

  summary.nodes = std::ssize(graph.nodes());
  std::map<std::string, OperatorCount> counts;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::string name =
        node.domain.empty() ? node.op_type : concat(node.domain, ".", node.op_type);
    OperatorCount& count = counts[name];
    count.op_type = name;
    ++count.nodes;
    count.supported = is_runnable(node.op_type, node.domain);
    if (!node.is("Constant") || !node.has("value")) continue;
    if (const std::shared_ptr<const Tensor> tensor = node.get_tensor("value")) {
      summary.parameters += tensor->elements();
      summary.parameter_bytes += tensor->bytes();
    }
  }
  for (const auto& [name, count] : counts) summary.operators.push_back(count);
  std::ranges::stable_sort(summary.operators, std::ranges::greater(), &OperatorCount::nodes);

  for (const ValueId id : graph.living_values()) {
    const Value& value = graph.value(id);
    if (value.constant == nullptr) continue;
    summary.parameters += value.constant->elements();
    summary.parameter_bytes += value.constant->bytes();
  }
  return summary;
}

PlanSummary summarize(const Plan& plan) {
  PlanSummary summary;
  summary.arena_bytes = plan.arena_bytes();
  summary.steps = std::ssize(plan.steps());
  for (const StepInfo& step : plan.steps()) {
    summary.macs = saturating_sum(summary.macs, step.macs);
    if (step.integer) {
      ++summary.integer_steps;
      summary.integer_macs = saturating_sum(summary.integer_macs, step.macs);
    }
    if (step.macs > 0) summary.layers.push_back(step);
  }
  return summary;
}

std::vector<NodeNames> names_of(const Graph& graph) {
  std::vector<NodeNames> names;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    NodeNames row{std::string(name_of(graph, id)), node.op_type, {}};
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) row.outputs.push_back(graph.value(output).name);
    }
    names.push_back(std::move(row));
  }
  return names;
}

}  // namespace qtool
