#include "graph/passes/scan_to_loop.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"

namespace qtool {
namespace {

// The parts of a Scan node, with the values of its attributes for each scan input and output.
struct ScanParts {
  SubgraphUse body;
  std::size_t states = 0;
  std::size_t inputs = 0;
  std::vector<std::int64_t> input_axes;
  std::vector<std::int64_t> input_directions;
  std::vector<std::int64_t> output_axes;
  std::vector<std::int64_t> output_directions;
  std::int64_t length = 0;
};

std::vector<std::int64_t> one_for_each(const Graph& graph, NodeId id, std::string_view key,
                                       std::size_t count) {
  std::vector<std::int64_t> numbers =
      graph.node(id).get_ints(key, std::vector<std::int64_t>(count, 0));
  require_count(graph, id, key, numbers.size(), count);
  return numbers;
}

std::int64_t plain_axis(const Graph& graph, NodeId id, std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail_node(graph, id, to_text("found axis ", axis, " of a tensor with ", rank, " axes"));
  }
  return axis < 0 ? axis + rank : axis;
}

// Returns std::nullopt when the length or the axes are not known yet.
std::optional<ScanParts> parts_of_scan(const Graph& graph, NodeId id, const ExpandTools& tools) {
  const Node& node = graph.node(id);
  ScanParts parts;
  parts.body = subgraph_of(graph, id, "body");
  const Graph& body = parts.body.subgraph->graph;
  const std::int64_t inputs = node.get_int("num_scan_inputs", 0);
  const std::size_t own = node.own_inputs();
  if (inputs < 1 || inputs > static_cast<std::int64_t>(own)) {
    fail_node(graph, id, to_text("num_scan_inputs: found ", inputs, ", expected 1 to ", own));
  }
  parts.inputs = static_cast<std::size_t>(inputs);
  parts.states = own - parts.inputs;
  require_count(graph, id, "inputs of the body", body.inputs().size(),
                own + parts.body.captured.size());
  if (body.outputs().size() < parts.states) {
    fail_node(graph, id,
              to_text("outputs of the body: found ", body.outputs().size(), ", expected at least ",
                      parts.states));
  }
  require_count(graph, id, "outputs", node.outputs.size(), body.outputs().size());
  const std::size_t outputs = body.outputs().size() - parts.states;
  parts.input_axes = one_for_each(graph, id, "scan_input_axes", parts.inputs);
  parts.input_directions = one_for_each(graph, id, "scan_input_directions", parts.inputs);
  parts.output_axes = one_for_each(graph, id, "scan_output_axes", outputs);
  parts.output_directions = one_for_each(graph, id, "scan_output_directions", outputs);
  std::optional<std::int64_t> length;
  for (std::size_t i = 0; i < parts.inputs; ++i) {
    if (node.inputs[parts.states + i] == kNoValue) fail_node(graph, id, "a scan input is left out");
    const KnownValue known = tools.known(node.inputs[parts.states + i]);
    if (!known.shape) return std::nullopt;
    std::int64_t& axis = parts.input_axes[i];
    axis = plain_axis(graph, id, axis, std::ssize(*known.shape));
    const std::optional<std::int64_t> size = (*known.shape)[static_cast<std::size_t>(axis)].size;
    if (!size) return std::nullopt;
    if (length && *length != *size) {
      fail_node(graph, id, to_text("scan inputs of length ", *length, " and ", *size));
    }
    length = size;
  }
  parts.length = *length;
  for (std::size_t i = 0; i < outputs; ++i) {
    std::int64_t& axis = parts.output_axes[i];
    if (axis == 0) continue;
    const auto& shape = body.value(body.outputs()[parts.states + i]).shape;
    if (!shape) return std::nullopt;
    axis = plain_axis(graph, id, axis, std::ssize(*shape) + 1);
  }
  return parts;
}

// The body of the Loop that replaces the Scan. It captures the scan inputs and takes one slice of
// each per iteration.
Subgraph body_as_loop(const ScanParts& parts) {
  const Graph& body = parts.body.subgraph->graph;
  Subgraph loop{{}, parts.body.captured.size() + parts.inputs};
  Graph& graph = loop.graph;
  graph.info = body.info;
  const auto add_input = [&](std::string_view name, const Value* like) {
    const ValueId id = graph.add_value(graph.unique_name(name));
    if (like != nullptr) graph.declare(id, like->dtype, like->shape);
    graph.add_input(id);
    return id;
  };
  const auto like = [&](std::size_t i) { return &body.value(body.inputs()[i]); };
  const ValueId iteration = add_input("iteration", nullptr);
  graph.declare(iteration, DType::kInt64, std::vector<Dim>());
  const ValueId condition = add_input("condition", nullptr);
  graph.declare(condition, DType::kBool, std::vector<Dim>());
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < parts.states; ++i)
    inputs.push_back(add_input(like(i)->name, like(i)));
  std::vector<ValueId> captures;
  const std::size_t first = parts.states + parts.inputs;
  for (std::size_t i = first; i < body.inputs().size(); ++i) {
    captures.push_back(add_input(like(i)->name, like(i)));
  }
  ValueId backwards = kNoValue;
  for (std::size_t i = 0; i < parts.inputs; ++i) {
    const Value& slice = *like(parts.states + i);
    const ValueId whole = add_input(to_text(slice.name, "/whole"), nullptr);
    graph.declare(whole, slice.dtype, std::nullopt);
    ValueId index = iteration;
    if (parts.input_directions[i] == 1) {
      if (backwards == kNoValue) {
        const ValueId last = graph.add_constant(graph.unique_name("last"),
                                                Tensor::scalar<std::int64_t>(parts.length - 1));
        backwards = graph.add_value(graph.unique_name("backwards"));
        add_op(graph, "Sub", {last, iteration}, backwards);
      }
      index = backwards;
    }
    inputs.push_back(graph.add_value(graph.unique_name(slice.name)));
    graph.declare(inputs.back(), slice.dtype, slice.shape);
    add_op(graph, "Gather", {whole, index}, inputs.back(), {{"axis", parts.input_axes[i]}});
  }
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  const ValueId more = graph.add_value(graph.unique_name("more"));
  graph.declare(more, DType::kBool, std::vector<Dim>());
  add_op(graph, "Identity", {condition}, more);
  graph.add_output(more);
  std::vector<ValueId> outputs;
  for (const ValueId output : body.outputs()) {
    const Value& value = body.value(output);
    outputs.push_back(graph.add_value(graph.unique_name(to_text(value.name, "/out"))));
    graph.declare(outputs.back(), value.dtype, value.shape);
    graph.add_output(outputs.back());
  }
  Inliner(graph).copy(body, inputs, outputs, "");
  graph.sort();
  return loop;
}

// The Loop stacks its slices along axis 0. Adds the nodes that move this axis and reverse the
// direction as the Scan demands. Returns the value that the Loop has to write.
ValueId add_turned(Graph& graph, const ScanParts& parts, std::size_t i, ValueId output,
                   const std::string& prefix, std::vector<NodeId>& added) {
  const Graph& body = parts.body.subgraph->graph;
  ValueId stacked = output;
  if (const std::int64_t axis = parts.output_axes[i]; axis != 0) {
    const auto& shape = body.value(body.outputs()[parts.states + i]).shape;
    std::vector<std::int64_t> order(shape->size() + 1);
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + 1, order.begin() + axis + 1);
    stacked = add_named(graph, prefix, "stacked");
    added.push_back(add_op(graph, "Transpose", {stacked}, output, {{"perm", order}}));
  }
  if (parts.output_directions[i] == 1) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(parts.length));
    std::iota(order.rbegin(), order.rend(), 0);
    const ValueId reversed = add_ints(graph, to_text(prefix, "backwards"), order);
    const ValueId forwards = add_named(graph, prefix, "forwards");
    added.push_back(
        add_op(graph, "Gather", {forwards, reversed}, stacked, {{"axis", std::int64_t{0}}}));
    stacked = forwards;
  }
  return stacked;
}

}  // namespace

std::optional<std::vector<NodeId>> scan_to_loop(Graph& graph, NodeId id, const ExpandTools& tools) {
  const std::optional<ScanParts> parts = parts_of_scan(graph, id, tools);
  if (!parts) return std::nullopt;
  if (parts->length > kMaxTrips) {
    fail_node(graph, id,
              to_text("runs ", parts->length, " times, at most ", kMaxTrips, " are accepted"));
  }
  const Node scan = graph.node(id);
  const std::string prefix = prefix_of(graph, id);
  const auto states = static_cast<std::ptrdiff_t>(parts->states);
  const auto inputs = static_cast<std::ptrdiff_t>(parts->inputs);
  Node loop;
  loop.name = scan.name;
  loop.op_type = "Loop";
  loop.attributes["body"] = std::make_shared<const Subgraph>(body_as_loop(*parts));
  loop.inputs = {graph.add_constant(graph.unique_name(to_text(prefix, "trips")),
                                    Tensor::scalar<std::int64_t>(parts->length)),
                 kNoValue};
  const auto begin = scan.inputs.begin();
  loop.inputs.insert(loop.inputs.end(), begin, begin + states);
  loop.inputs.insert(loop.inputs.end(), begin + states + inputs, scan.inputs.end());
  loop.inputs.insert(loop.inputs.end(), begin + states, begin + states + inputs);
  disconnect(graph, id);
  std::vector<NodeId> added;
  loop.outputs.assign(scan.outputs.begin(), scan.outputs.begin() + states);
  for (std::size_t i = 0; i < parts->output_axes.size(); ++i) {
    const ValueId output = scan.outputs[parts->states + i];
    loop.outputs.push_back(
        output == kNoValue ? kNoValue : add_turned(graph, *parts, i, output, prefix, added));
  }
  added.insert(added.begin(), graph.add_node(std::move(loop)));
  return added;
}

}  // namespace qtool
