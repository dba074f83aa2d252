#include "compare/tensor_counterpart.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compare/quantized_parts.h"
#include "compare/stored_affines.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

std::optional<Counterpart> integers_behind(const Graph& int8, ValueId id) {
  const NodeId producer = int8.value(id).producer;
  if (producer == kNoNode || !int8.node(producer).is("DequantizeLinear")) return {};
  const Node& node = int8.node(producer);
  if (!node.has_input(0) || int8.is_constant(node.inputs[0])) return {};
  std::optional<Affines> affines = stored_affines(int8, node);
  if (!affines) return {};
  return Counterpart{int8.value(node.inputs[0]).name, std::move(affines)};
}

/// Whether a node is a Clip that only the INT8 model has. Such a Clip keeps integers of few bits
/// within their limits, so it is a part of the rounding.
bool limits_integers(const Graph& int8, const Node& node, const Graph& fp32) {
  return node.is("Clip") && node.has_output(0) &&
         !fp32.find_value(int8.value(node.outputs[0]).name) &&
         int8.consumers(node.outputs[0]).size() == 1;
}

/// The integers that a QuantizeLinear makes of the tensor.
std::optional<Counterpart> integers_of(const Graph& int8, ValueId id, const Graph& fp32) {
  std::vector<NodeId> readers = int8.consumers(id);
  std::sort(readers.begin(), readers.end());
  for (const NodeId reader : readers) {
    const Node* node = &int8.node(reader);
    if (node->inputs[0] != id) continue;
    if (limits_integers(int8, *node, fp32)) {
      node = &int8.node(int8.consumers(node->outputs[0]).front());
    }
    if (!node->is("QuantizeLinear") || !node->has_output(0)) continue;
    // A single byte of the two says little about the tensor.
    const bool is_one_of_two = std::ranges::any_of(
        int8.consumers(node->outputs[0]),
        [&](NodeId behind) { return is_wide(int8, id, first_output(int8.node(behind))); });
    if (is_one_of_two) return {};
    std::optional<Affines> affines = stored_affines(int8, *node);
    if (affines) return Counterpart{int8.value(node->outputs[0]).name, std::move(affines)};
  }
  return {};
}

}  // namespace

std::optional<Counterpart> counterpart_of(const Graph& int8, std::string_view name,
                                          const Graph& fp32) {
  const std::optional<ValueId> id = int8.find_value(name);
  if (!id || int8.is_constant(*id)) return {};
  if (!int8.is_input(*id) && int8.value(*id).producer == kNoNode) return {};
  if (std::optional<Counterpart> behind = integers_behind(int8, *id)) return behind;
  if (std::optional<Counterpart> made = integers_of(int8, *id, fp32)) return made;
  return Counterpart{std::string(name), {}};
}

Tensor dequantized(const Tensor& integers, const Affines& affines, const std::string& name) {
  Tensor reals(DType::kFloat32, integers.shape());
  const std::span<float> out = reals.values<float>();
  const std::vector<std::int64_t> values = to_int64s(integers);
  std::size_t inner = 1;  // consecutive elements with the same index of the axis
  if (!affines.per_tensor()) {
    const Shape& shape = integers.shape();
    const std::int64_t axis = normalize_axis(affines.axis, shape.rank(), name);
    if (shape[axis] != std::ssize(affines.scales)) {
      throw Error(ErrorCode::kInvalidModel,
                  to_text("tensor '", name, "': has ", affines.scales.size(), " scales for axis ",
                          axis, " of ", shape.to_string()));
    }
    for (std::int64_t a = axis + 1; a < shape.rank(); ++a) {
      inner *= static_cast<std::size_t>(shape[a]);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = dequantize_value(static_cast<std::int32_t>(values[i]),
                              affines.at(i / inner % affines.scales.size()));
  }
  return reals;
}

}  // namespace qtool
