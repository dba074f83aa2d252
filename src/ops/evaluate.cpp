#include "ops/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "graph/rank.h"
#include "ops/operator.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// Limits for each result of a node, its tables and its scratch memory: this many bytes, or this
// many times the bytes of its inputs, whichever is larger. A node beyond the limit stays a node.
// (How much folding may enlarge a file is limited in fold_constants.cpp.)
constexpr std::int64_t kMaxSmallResultBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMaxGrowth = 4;

// A node with constant inputs in a graph of its own, so that tables with one entry per value stay
// small.
struct Alone {
  Graph graph;
  NodeId id{};
};

// Nothing when an input is not a constant.
std::optional<Alone> cut_out(const Graph& whole, NodeId id) {
  Alone alone;
  Node node = whole.node(id);
  for (ValueId& input : node.inputs) {
    if (input == kNoValue) continue;
    const Value& value = whole.value(input);
    if (value.constant == nullptr) return std::nullopt;
    const std::optional<ValueId> known = alone.graph.find_value(value.name);  // may be read twice
    input = known ? *known : alone.graph.add_constant(value.name, value.constant);
  }
  for (ValueId& output : node.outputs) {
    if (output != kNoValue) output = alone.graph.add_value(whole.value(output).name);
  }
  alone.id = alone.graph.add_node(std::move(node));
  return alone;
}

}  // namespace

std::optional<std::vector<Tensor>> evaluate_node(const Graph& whole, NodeId whole_id,
                                                 const LoweredParams& lowered, FoldBudget* budget) {
  const OpDef* def = find_op(whole.node(whole_id).op_type, whole.node(whole_id).domain);
  if (def == nullptr) return std::nullopt;
  if (whole.node(whole_id).has_subgraphs()) return std::nullopt;  // subgraphs read other values
  if (def->layout == LayoutRule::kImages) return std::nullopt;    // constants are plain
  std::optional<Alone> alone = cut_out(whole, whole_id);
  if (!alone) return std::nullopt;
  const Graph& graph = alone->graph;
  const NodeId id = alone->id;
  const Node& node = graph.node(id);
  ValueInfos infos(graph.value_limit());
  std::vector<TensorView> values;
  std::vector<std::int32_t> inputs;
  std::int64_t input_bytes = 0;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input == kNoValue ? -1 : static_cast<std::int32_t>(values.size()));
    if (input == kNoValue) continue;
    const Tensor& constant = *graph.value(input).constant;
    infos[input] = ValueInfo{constant.dtype(), constant.shape()};
    values.emplace_back(constant);
    input_bytes += constant.bytes();
  }
  const std::int64_t most = std::max(kMaxSmallResultBytes, kMaxGrowth * input_bytes);
  OpContext context(graph, id, infos, lowered);
  context.most_table_bytes = most;
  const std::vector<ValueInfo> shapes = def->infer(context);
  std::int64_t result_bytes = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::int64_t axes = shapes[i].shape.rank();
    if (axes > kMaxRank) {
      context.fail(ErrorCode::kUnsupported, to_text("output ", i, " ", too_many_axes(axes)));
    }
    const std::int64_t bytes = shapes[i].shape.elements() * size_of(shapes[i].dtype);
    if (bytes > most) return std::nullopt;
    if (node.has_output(i)) result_bytes += bytes;
  }
  if (budget != nullptr && !budget->take(result_bytes)) return std::nullopt;

  std::vector<Tensor> results;
  std::vector<std::int32_t> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool present = node.outputs[i] != kNoValue;
    if (present && i >= shapes.size()) return std::nullopt;
    results.push_back(present ? Tensor(shapes[i].dtype, shapes[i].shape) : Tensor());
    outputs.push_back(present ? static_cast<std::int32_t>(values.size()) : -1);
    if (!present) continue;
    values.emplace_back(results.back());
    infos[node.outputs[i]] = shapes[i];
  }
  if (def->make == nullptr) {
    const TensorView& source = values[static_cast<std::size_t>(inputs[0])];
    if (results[0].bytes() > 0) {
      std::memcpy(results[0].data(), source.data, static_cast<std::size_t>(results[0].bytes()));
    }
    return results;
  }
  if (result_bytes == 0) return results;  // other extents, and tables for them, may be huge
  std::unique_ptr<Operator> op;
  try {
    op = def->make(context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return std::nullopt;  // its tables are too large, or no plan can run it
  }
  if (op->workspace_bytes() > most) return std::nullopt;
  Tensor scratch(DType::kUInt8, Shape{op->workspace_bytes()});
  op->run({values, inputs, outputs, scratch.data(), 1});
  return results;
}

}  // namespace qtool
