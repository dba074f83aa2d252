#include "model_nesting.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "model_parts.h"

namespace qtool::fuzz {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

NodeProto node_of(const std::string& op_type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
  NodeProto node;
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

void set_int(NodeProto& node, const std::string& name, std::int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

GraphProto& add_graph(NodeProto& node, const std::string& name) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  return *attribute.mutable_g();
}

std::string add_scalar(Random& random, GraphProto& graph, std::int32_t type, std::int64_t value) {
  TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(new_name(random));
  tensor.set_data_type(type);
  type == TensorProto::INT64 ? tensor.add_int64_data(value)
                             : tensor.add_int32_data(static_cast<std::int32_t>(value));
  return tensor.name();
}

// Adds nodes to `before` that compute one number of type `type` from the tensor `name`. Returns the
// name of the number.
std::string number_of(Random& random, const std::string& name, std::int32_t type,
                      std::vector<NodeProto>& before) {
  const std::string most = new_name(random);
  const std::string number = new_name(random);
  before.push_back(node_of("ReduceMax", {name}, {most}));
  set_int(before.back(), "keepdims", 0);
  before.push_back(node_of("Cast", {most}, {number}));
  set_int(before.back(), "to", type);
  return number;
}

std::string condition_of(Random& random, GraphProto& graph, std::vector<NodeProto>& before) {
  if (random.one_in(3)) {
    return add_scalar(random, graph, TensorProto::BOOL, random.one_in(2) ? 1 : 0);
  }
  return number_of(random, any_name(random, graph), TensorProto::BOOL, before);
}

// A small number of iterations, or more than a loop may have. A number in between is allowed, but
// the run would take long.
std::int64_t random_trips(Random& random) {
  constexpr std::int64_t kFew = 100;
  constexpr std::int64_t kTooMany = std::int64_t{1} << 21;
  const std::int64_t trips = random.one_in(4) ? random_extent(random) : random.between(0, 4);
  return trips > kFew && trips < kTooMany ? kFew : trips;
}

// Puts `nodes` in the place of node `at`.
void replace_node(GraphProto& graph, int at, std::vector<NodeProto> nodes) {
  GraphProto changed;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (i != at) {
      *changed.add_node() = graph.node(i);
      continue;
    }
    for (NodeProto& node : nodes) *changed.add_node() = std::move(node);
  }
  graph.mutable_node()->Swap(changed.mutable_node());
}

// Adds a copy of `node` whose outputs have new names and are outputs of the graph.
NodeProto& add_inner(Random& random, GraphProto& graph, const NodeProto& node) {
  NodeProto& inner = *graph.add_node();
  inner = node;
  for (std::string& output : *inner.mutable_output()) {
    if (output.empty()) continue;
    output = new_name(random);
    graph.add_output()->set_name(output);
  }
  return inner;
}

// The index of a random node that has inputs and outputs; -1 if there is none.
int any_computing(Random& random, const google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
  std::vector<int> places;
  for (int i = 0; i < nodes.size(); ++i) {
    if (nodes[i].input_size() > 0 && nodes[i].output_size() > 0) places.push_back(i);
  }
  return places.empty() ? -1 : random.pick(places);
}

}  // namespace

void enclose_in_if(Random& random, GraphProto& graph) {
  const int at = any_computing(random, graph.node());
  if (at < 0) return;
  const NodeProto node = graph.node(at);
  std::vector<NodeProto> nodes;
  NodeProto decision = node_of("If", {condition_of(random, graph, nodes)}, {});
  for (const std::string& output : node.output()) {
    if (!output.empty()) decision.add_output(output);
  }
  add_inner(random, add_graph(decision, "then_branch"), node);
  NodeProto& other = add_inner(random, add_graph(decision, "else_branch"), node);
  if (random.one_in(2)) other.set_op_type(random.pick(known_operators()).op_type);
  nodes.push_back(std::move(decision));
  replace_node(graph, at, std::move(nodes));
}

void enclose_in_loop(Random& random, GraphProto& graph) {
  const int at = any_computing(random, graph.node());
  if (at < 0) return;
  const NodeProto node = graph.node(at);
  std::vector<NodeProto> nodes;
  const std::string trips =
      random.one_in(4) ? number_of(random, any_name(random, graph), TensorProto::INT64, nodes)
                       : add_scalar(random, graph, TensorProto::INT64, random_trips(random));
  const std::string goes_on = random.one_in(2) ? std::string() : condition_of(random, graph, nodes);
  NodeProto loop = node_of("Loop", {trips, goes_on, node.input(0)}, {node.output(0)});
  GraphProto& body = add_graph(loop, "body");
  for (const std::int32_t type : {TensorProto::INT64, TensorProto::BOOL}) {
    onnx::ValueInfoProto& input = *body.add_input();
    input.set_name(new_name(random));
    input.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    input.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  const std::string state = body.add_input()->mutable_name()->assign(new_name(random));
  const std::string more = new_name(random);
  *body.add_node() = node_of("Identity", {body.input(1).name()}, {more});
  body.add_output()->set_name(more);
  NodeProto& inner = *body.add_node();
  inner = node;
  inner.set_input(0, state);
  for (std::string& output : *inner.mutable_output()) output = new_name(random);
  body.add_output()->set_name(inner.output(0));
  if (random.one_in(3)) {  // adds a scan output
    body.add_output()->set_name(random.one_in(2) ? inner.output(0) : state);
    loop.add_output(new_name(random));
    graph.add_output()->set_name(loop.output(1));
  }
  nodes.push_back(std::move(loop));
  replace_node(graph, at, std::move(nodes));
}

void add_tail(Random& random, GraphProto& graph) {
  const std::string from = any_name(random, graph);
  const std::string made = new_name(random);
  std::vector<NodeProto> nodes;
  switch (random.below(5)) {
    case 0:
      nodes.push_back(node_of("NonZero", {from}, {made}));
      break;
    case 1:
      nodes.push_back(node_of("Unique", {from}, {made}));
      break;
    case 2: {
      const std::string count = number_of(random, from, TensorProto::INT64, nodes);
      const std::string list = new_name(random);
      nodes.push_back(
          node_of("Unsqueeze", {count, add_scalar(random, graph, TensorProto::INT64, 0)}, {list}));
      graph.mutable_initializer()->rbegin()->add_dims(1);
      nodes.push_back(node_of("TopK", {from, list}, {made, new_name(random)}));
      break;
    }
    case 3:
      nodes.push_back(node_of("NonMaxSuppression", {from, any_name(random, graph)}, {made}));
      break;
    default:
      nodes.push_back(node_of("EfficientNMS_TRT", {from}, {made}));
      nodes.back().set_domain("TRT");
      if (random.one_in(2)) nodes.back().add_input(any_name(random, graph));
      if (random.one_in(2)) nodes.back().add_output(new_name(random));
  }
  std::string last = made;
  if (random.one_in(2)) {
    last = new_name(random);
    static constexpr std::array kBehind = {"Gather", "Add", "Concat", "GatherND", "ScatterND"};
    nodes.push_back(node_of(random.pick(kBehind), {any_name(random, graph), made}, {last}));
    if (random.one_in(2)) set_int(nodes.back(), "axis", random.between(-1, 2));
  }
  for (NodeProto& node : nodes) *graph.add_node() = std::move(node);
  const auto outputs = static_cast<std::size_t>(graph.output_size());
  if (outputs > 0 && random.one_in(3)) {
    graph.mutable_output(static_cast<int>(random.below(outputs)))->set_name(last);
  } else {
    graph.add_output()->set_name(last);
  }
}

void move_to_function(Random& random, onnx::ModelProto& model) {
  GraphProto& graph = *model.mutable_graph();
  const int at = any_computing(random, graph.node());
  if (at < 0) return;
  onnx::FunctionProto& function = *model.add_functions();
  function.set_name(new_name(random));
  function.set_domain("fuzz");
  for (const auto& import : model.opset_import()) *function.add_opset_import() = import;
  NodeProto& called = *function.add_node();
  called = graph.node(at);
  NodeProto call = node_of(function.name(), {}, {});
  call.set_domain("fuzz");
  for (std::string& input : *called.mutable_input()) {
    if (input.empty()) continue;
    call.add_input(input);
    input = new_name(random);
    function.add_input(input);
  }
  for (std::string& output : *called.mutable_output()) {
    if (output.empty()) continue;
    call.add_output(output);
    output = new_name(random);
    function.add_output(output);
  }
  for (AttributeProto& attribute : *called.mutable_attribute()) {
    if (attribute.has_g() || !random.one_in(3)) continue;
    *call.add_attribute() = attribute;
    call.mutable_attribute()->rbegin()->set_name(new_name(random));
    function.add_attribute(call.attribute().rbegin()->name());
    AttributeProto link;
    link.set_name(attribute.name());
    link.set_type(attribute.type());
    link.set_ref_attr_name(call.attribute().rbegin()->name());
    attribute = link;
  }
  bool imported = false;
  for (const auto& import : model.opset_import()) imported = imported || import.domain() == "fuzz";
  if (!imported) {
    onnx::OperatorSetIdProto& import = *model.add_opset_import();
    import.set_domain("fuzz");
    import.set_version(1);
  }
  *graph.mutable_node(at) = std::move(call);
}

}  // namespace qtool::fuzz
