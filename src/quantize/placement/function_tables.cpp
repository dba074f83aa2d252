#include "quantize/placement/function_tables.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "graph/constant_float.h"
#include "graph/op_traits.h"
#include "graph/rank.h"

namespace qtool {
namespace {

// Whether the result has neither steps nor poles. Exp, Log, Sqrt and a division by the element
// have: if their input changes by one integer, their result may change many times over.
bool is_smooth(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (traits_of(node).is_smooth) return true;
  if (node.is("Div")) return graph.is_constant(node.inputs[1]);
  if (!node.is("Pow")) return false;
  const std::optional<float> exponent = constant_float(graph, node.inputs[1]);
  return exponent == 2.0F || exponent == 3.0F;
}

// Whether a single node runs better without a table. A node that reads a constant beside the tensor
// runs better with one: a table uses the real constant, a kernel reads it rounded. Add and Mul are
// exceptions: every target has kernels for them, so they stay as they are.
bool runs_better(const Target& target, const Node& node) {
  if (!target.runs(node.op_type)) return false;
  return traits_of(node).kind != OpKind::kCombining || node.is("Add") || node.is("Mul");
}

// Whether each constant of several numbers has one number for each index of axis 1.
bool has_channels_on_axis_1(const Graph& graph, const ElementFunction& function, NodeId id) {
  return std::ranges::all_of(graph.node(id).inputs, [&](ValueId input) {
    const std::optional<std::int64_t> from_end = channel_axis_from_end(graph, input);
    return !from_end || rank_of(graph, function.input) == *from_end + 1;
  });
}

// The most nodes of a function inside a product. Lowering computes at most kMaxChainSteps steps
// there, and a node has two at most.
constexpr std::size_t kMostInnerNodes = 8;

// Whether a node is a convolution whose result has two axes behind the channels.
bool makes_images(const Graph& graph, const Node& convolution) {
  return convolution.is("Conv") && graph.is_constant(convolution.inputs[1]) &&
         graph.value(convolution.inputs[1]).constant->shape().rank() == 4;
}

// Whether each channel has a filter of its own. `convolution`: see makes_images().
bool is_depthwise(const Graph& graph, const Node& convolution) {
  const std::int64_t groups = convolution.get_int("group", 1);
  return groups > 1 && graph.value(convolution.inputs[1]).constant->shape()[0] == groups;
}

// Whether a function ends with a Mul by one constant per channel, and other nodes precede it.
bool ends_with_factors(const Graph& graph, const ElementFunction& function) {
  const Node& last = graph.node(function.nodes.back());
  return function.nodes.size() > 1 && last.is("Mul") &&
         std::ranges::any_of(last.inputs, [&](ValueId input) {
           return channel_axis_from_end(graph, input).has_value();
         });
}

// Whether the epilogue of a convolution can compute a node of a function. Each constant is a single
// number; a Mul at the end may have one per channel.
bool runs_in_epilogue(const Graph& graph, const ElementFunction& function, NodeId id) {
  constexpr std::string_view kOps[] = {"Add",       "Clip",      "Div", "Erf",
                                       "HardSwish", "LeakyRelu", "Mul", "Relu",
                                       "Sigmoid",   "Softplus",  "Sub", "Tanh"};
  const Node& node = graph.node(id);
  if (std::ranges::none_of(kOps, [&](std::string_view op) { return node.is(op); })) return false;
  if (id == function.nodes.back() && ends_with_factors(graph, function)) return true;
  return std::ranges::none_of(
      node.inputs, [&](ValueId input) { return channel_axis_from_end(graph, input).has_value(); });
}

}  // namespace

std::vector<ElementFunction> smooth_functions(const Graph& graph, const Target& target,
                                              const ElementTypes& types, const Tail& tail,
                                              const IdMap<ValueId, char>& fixed) {
  if (!target.fuses_functions) return {};
  std::vector<ElementFunction> functions = element_functions(graph);
  std::erase_if(functions, [&](const ElementFunction& function) {
    if (types[function.input] != DType::kFloat32) return true;
    if (fixed[function.input] != 0) return true;
    return !std::ranges::all_of(function.nodes, [&](NodeId id) {
      return tail.root(id) == kNoNode && is_smooth(graph, id) &&
             has_channels_on_axis_1(graph, function, id) &&
             types[graph.node(id).outputs[0]] == DType::kFloat32;
    });
  });
  return functions;
}

void leave_out_single_nodes(const Target& target, const Graph& graph,
                            std::vector<ElementFunction>& functions) {
  std::erase_if(functions, [&](const ElementFunction& function) {
    return function.nodes.size() == 1 && runs_better(target, graph.node(function.nodes[0]));
  });
}

bool runs_inside_product(const Graph& graph, const Target& target,
                         const ElementFunction& function) {
  const NodeId product = graph.value(function.input).producer;
  if (product == kNoNode || graph.is_output(function.input)) return false;
  if (function.nodes.size() > kMostInnerNodes) return false;
  const Node& node = graph.node(product);
  const auto& producers = target.function_producers;
  if (std::ranges::find(producers, node.op_type) == producers.end()) return false;
  if (!makes_images(graph, node)) return false;
  const auto contains = [&](NodeId id) {
    return std::ranges::find(function.nodes, id) != function.nodes.end();
  };
  if (!std::ranges::all_of(graph.consumers(function.input), contains)) return false;
  return has_slopes(graph, function) || std::ranges::all_of(function.nodes, [&](NodeId id) {
           return runs_in_epilogue(graph, function, id);
         });
}

bool has_slopes(const Graph& graph, const ElementFunction& function) {
  const Node& first = graph.node(function.nodes.front());
  const NodeId product = graph.value(function.input).producer;
  if (!(first.is("LeakyRelu") || first.is("PRelu")) || product == kNoNode) return false;
  if (first.inputs[0] != function.input) return false;
  const Node& convolution = graph.node(product);
  if (!makes_images(graph, convolution) || is_depthwise(graph, convolution)) return false;
  return function.nodes.size() == 1 ||
         (function.nodes.size() == 2 && ends_with_factors(graph, function));
}

bool take_out_alone(std::vector<ElementFunction>& functions, NodeId id) {
  const auto function = std::ranges::find_if(functions, [id](const ElementFunction& candidate) {
    return std::ranges::find(candidate.nodes, id) != candidate.nodes.end();
  });
  if (function == functions.end()) return true;
  if (function->nodes.size() > 1) return false;
  functions.erase(function);
  return true;
}

}  // namespace qtool
