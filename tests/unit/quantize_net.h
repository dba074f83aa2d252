#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// Builds small graphs by name for the tests of quantization.
class Net {
 public:
  Net() { graph.info.opsets[""] = 17; }

  Graph graph;

  std::string input(const std::string& name, const std::vector<std::int64_t>& dims) {
    const ValueId id = graph.add_value(name);
    std::vector<Dim> shape;
    for (const std::int64_t dim : dims) shape.push_back({dim, {}});
    graph.declare(id, DType::kFloat32, std::move(shape));
    graph.add_input(id);
    return name;
  }

  std::string constant(const std::string& name, Tensor tensor) {
    graph.add_constant(name, std::move(tensor));
    return name;
  }

  /// A node called `name` whose output is `<name>_out`.
  std::string op(const std::string& op_type, const std::string& name,
                 std::initializer_list<std::string> inputs,
                 std::map<std::string, Attribute, std::less<>> attributes = {}) {
    Node node;
    node.name = name;
    node.op_type = op_type;
    for (const std::string& in : inputs) {
      node.inputs.push_back(in.empty() ? kNoValue : id(in));
    }
    node.outputs = {graph.add_value(name + "_out")};
    node.attributes = std::move(attributes);
    graph.add_node(std::move(node));
    return name + "_out";
  }

  /// A 1x1 convolution with `channels` outputs and inputs. Its weights count up from -0.75 in steps
  /// of 0.25, and its biases continue the count.
  std::string conv(const std::string& name, const std::string& in, std::int64_t channels = 2) {
    Tensor w(DType::kFloat32, Shape{channels, channels, 1, 1});
    float next = -1.0F;
    for (float& v : w.values<float>()) v = next += 0.25F;
    Tensor b(DType::kFloat32, Shape{channels});
    for (float& v : b.values<float>()) v = next += 0.25F;
    constant(name + "_w", std::move(w));
    constant(name + "_b", std::move(b));
    return op("Conv", name, {in, name + "_w", name + "_b"});
  }

  void output(const std::string& name) {
    graph.add_output(id(name));
    graph.declare(id(name), DType::kFloat32, std::vector<Dim>{});
  }

  [[nodiscard]] ValueId id(std::string_view name) const { return graph.find_value(name).value(); }
};

/// The only node with this name, or kNoNode.
inline NodeId node_named(const Graph& graph, std::string_view name) {
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).name == name) return id;
  }
  return kNoNode;
}

inline std::size_t count_ops(const Graph& graph, std::string_view op_type) {
  std::size_t count = 0;
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op_type == op_type) ++count;
  }
  return count;
}

}  // namespace qtool
