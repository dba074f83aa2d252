#include "graph/onnx/four_bits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/passes/constant_node.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::array<std::size_t, 2> kIntegers = {0, 2};  // operands: integers, zero points

std::shared_ptr<const Tensor> known_tensor(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.constant != nullptr) return value.constant;
  if (value.producer == kNoNode || !graph.node(value.producer).is("Constant")) return nullptr;
  return tensor_of_constant(graph.node(value.producer));
}

bool fits(const Tensor& tensor) {
  const auto within = [](auto low, auto high) {
    return [=](auto value) { return value >= low && value <= high; };
  };
  if (tensor.dtype() == DType::kInt8) {
    return std::ranges::all_of(tensor.values<std::int8_t>(), within(-8, 7));
  }
  return tensor.dtype() == DType::kUInt8 &&
         std::ranges::all_of(tensor.values<std::uint8_t>(), within(0, 15));
}

// Whether a value is known, fits in 4 bits, and is read only by marked nodes.
bool is_of_marked(const Graph& graph, ValueId id, const std::set<NodeId>& marked) {
  const std::shared_ptr<const Tensor> tensor = known_tensor(graph, id);
  if (tensor == nullptr || !fits(*tensor) || graph.is_output(id)) return false;
  return std::ranges::all_of(graph.consumers(id), [&](NodeId reader) {
    return marked.contains(reader) && graph.node(reader).inputs[1] != id;
  });
}

}  // namespace

void mark_four_bits(Graph& graph, ValueId id) {
  const std::vector<NodeId> readers = graph.consumers(id);
  for (const NodeId reader : readers) {
    if (graph.node(reader).op_type != "DequantizeLinear") {  // com.microsoft has one too
      throw Error(ErrorCode::kUnsupported,
                  to_text("'", graph.value(id).name, "': has integers of 4 bits, read by ",
                          graph.describe(reader), ", expected DequantizeLinear"));
    }
    graph.attributes(reader)[std::string(kBitsAttribute)] = std::int64_t{4};
  }
}

bool dequantizes_four_bits(const Node& node) { return node.has(kBitsAttribute); }

std::set<ValueId> four_bit_values(const Graph& graph) {
  std::set<NodeId> marked;
  for (const NodeId id : graph.nodes()) {
    if (dequantizes_four_bits(graph.node(id))) marked.insert(id);
  }
  // If one operand of a node stays in 8 bits, so does its other one. This may affect the other
  // readers of that operand, so the search repeats until nothing changes.
  const auto stays = [&](NodeId id) {
    const Node& node = graph.node(id);
    return std::ranges::any_of(kIntegers, [&](std::size_t i) {
      return node.has_input(i) && !is_of_marked(graph, node.inputs[i], marked);
    });
  };
  while (std::erase_if(marked, stays) > 0) {
  }
  std::set<ValueId> values;
  for (const NodeId id : marked) {
    for (const std::size_t i : kIntegers) {
      if (graph.node(id).has_input(i)) values.insert(graph.node(id).inputs[i]);
    }
  }
  return values;
}

}  // namespace qtool
