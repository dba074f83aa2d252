#include "report/model_summary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/saturate.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/obstacles.h"
#include "json/json_text.h"
#include "report/quantization.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

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
    for (const Dim& dim : *value.shape)
      extents += to_text(extents.empty() ? "" : ", ", extent(dim));
  }
  port.shape = value.shape ? to_text("[", extents, "]") : std::string("?");
  return port;
}

std::string text_of_names(const std::vector<NodeNames>& names, std::size_t width) {
  if (names.empty()) return {};
  TextTable table({{"  node"}, {"operator"}, {"outputs"}});
  for (const NodeNames& row : names) {
    std::string outputs;
    for (const std::string& output : row.outputs) {
      outputs += to_text(outputs.empty() ? "" : ", ", printable(output));
    }
    table.add({to_text("  ", printable(row.node)), printable(row.op_type), outputs});
  }
  return to_text("names:\n", table.to_string(width));
}

Json json_of_ports(const std::vector<PortSummary>& ports) {
  Json list = Json::array();
  for (const PortSummary& port : ports) {
    list.push_back({{"name", port.name}, {"type", port.type}, {"shape", port.shape}});
  }
  return list;
}

Json json_of_outlook(const Outlook& outlook) {
  Json left = Json::array();
  for (const NodeReport& node : outlook.report.nodes) {
    if (node.role != NodeRole::kFloat) continue;
    left.push_back({{"node", node.node}, {"operator", node.op_type}, {"reason", node.reason}});
  }
  return {{"target", outlook.report.target},
          {"macs", outlook.coverage.macs},
          {"integer_macs", outlook.coverage.integer_macs},
          {"convolutions", outlook.coverage.convolutions},
          {"integer_convolutions", outlook.coverage.integer_convolutions},
          {"products", outlook.coverage.products},
          {"integer_products", outlook.coverage.integer_products},
          {"fp32", std::move(left)}};
}

Json json_of_names(const std::vector<NodeNames>& names) {
  Json rows = Json::array();
  for (const NodeNames& row : names) {
    rows.push_back({{"node", row.node}, {"operator", row.op_type}, {"outputs", row.outputs}});
  }
  return rows;
}

void add_parameters(const Tensor& tensor, ModelSummary& summary) {
  summary.parameters += tensor.elements();
  summary.parameter_bytes += tensor.bytes();
}

// Adds the constants of a graph and of the graphs inside its nodes.
void add_parameters(const Graph& graph, ModelSummary& summary) {
  for (const ValueId id : graph.living_values()) {
    if (const auto& constant = graph.value(id).constant) add_parameters(*constant, summary);
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is("Constant") && node.has("value")) {
      if (const auto tensor = node.get_tensor("value")) add_parameters(*tensor, summary);
    }
    for (const auto& [key, attribute] : node.attributes) {
      const auto* inner = std::get_if<std::shared_ptr<const Subgraph>>(&attribute);
      if (inner != nullptr) add_parameters((*inner)->graph, summary);
    }
  }
}

}  // namespace

bool ModelSummary::supported() const {
  return std::ranges::all_of(operators, &OperatorCount::supported);
}

ModelSummary summarize(const Graph& graph) {
  ModelSummary summary;
  summary.producer = graph.info.producer_name;
  if (!graph.info.producer_version.empty()) {
    summary.producer += to_text(" ", graph.info.producer_version);
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
        node.domain.empty() ? node.op_type : to_text(node.domain, ".", node.op_type);
    OperatorCount& count = counts[name];
    count.op_type = name;
    ++count.nodes;
    count.supported = is_runnable(node.op_type, node.domain);
  }
  for (const auto& [name, count] : counts) summary.operators.push_back(count);
  std::ranges::stable_sort(summary.operators, std::ranges::greater(), &OperatorCount::nodes);
  add_parameters(graph, summary);
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

std::string text_of(const ModelSummary& model, const std::optional<RunSummary>& run,
                    std::size_t width) {
  std::string text;
  if (!model.producer.empty()) text += to_text("producer: ", model.producer, "\n");
  text += to_text("opset: ", model.opset, "\n");
  const auto add_ports = [&text](const char* kind, const std::vector<PortSummary>& ports) {
    for (const PortSummary& port : ports) {
      text += to_text(kind, ": '", printable(port.name), "' ", port.type, " ", port.shape, "\n");
    }
  };
  add_ports("input", model.inputs);
  add_ports("output", model.outputs);
  text += to_text("parameters: ", model.parameters, " (",
                  to_fixed(static_cast<double>(model.parameter_bytes) / (1 << 20), 2), " MiB)\n");
  for (const auto& [key, value] : model.metadata) text += to_text(key, ": ", value, "\n");
  text += to_text("nodes: ", model.nodes, "\n");
  TextTable table({{"  operator"}, {"nodes", Kind::kNumber, 1}, {"", Kind::kText}});
  for (const OperatorCount& row : model.operators) {
    table.add(
        {to_text("  ", row.op_type), to_text(row.nodes), row.supported ? "" : "not supported"});
  }
  text += table.to_string(width) + text_of_names(model.names, width);
  if (!run) return text;
  const PlanSummary& plan = run->plan;
  text += to_text("MACs: ", plan.macs);
  if (plan.integer_macs > 0) {
    text += to_text(", ", percent_of(plan.integer_macs, plan.macs, 1), " of them on integers");
  }
  text += to_text("\nsteps: ", plan.steps, " after fusion, ", plan.integer_steps,
                  " on integers; activations in ",
                  to_fixed(static_cast<double>(plan.arena_bytes) / (1 << 20), 2), " MiB\n");
  if (run->outlook) {
    const QuantizeReport& report = run->outlook->report;
    text += to_text("quantized for ", report.target, ": ",
                    coverage_line(run->outlook->coverage, report), "\n",
                    text_of_float_nodes(report, "  "));
  }
  return text;
}

std::string json_of(const ModelSummary& model, const std::optional<RunSummary>& run) {
  Json operators = Json::array();
  for (const OperatorCount& row : model.operators) {
    operators.push_back(
        {{"operator", row.op_type}, {"nodes", row.nodes}, {"supported", row.supported}});
  }
  Json json{{"producer", model.producer},
            {"opset", model.opset},
            {"inputs", json_of_ports(model.inputs)},
            {"outputs", json_of_ports(model.outputs)},
            {"nodes", model.nodes},
            {"operators", std::move(operators)},
            {"parameters", model.parameters},
            {"parameter_bytes", model.parameter_bytes},
            {"metadata", model.metadata}};
  if (run) {
    const PlanSummary& plan = run->plan;
    Json layers = Json::array();
    for (const StepInfo& step : plan.layers) {
      layers.push_back({{"node", step.node},
                        {"operator", step.op_type},
                        {"kernel", step.kernel},
                        {"output", step.output},
                        {"integer", step.integer},
                        {"macs", step.macs}});
    }
    json["plan"] = {{"macs", plan.macs},
                    {"integer_macs", plan.integer_macs},
                    {"steps", plan.steps},
                    {"integer_steps", plan.integer_steps},
                    {"arena_bytes", plan.arena_bytes},
                    {"layers", std::move(layers)}};
    if (run->outlook) json["outlook"] = json_of_outlook(*run->outlook);
  }
  if (!model.names.empty()) json["names"] = json_of_names(model.names);
  return json_text(json);
}

}  // namespace qtool
