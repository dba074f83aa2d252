#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "graph/id_map.h"
#include "graph/passes/constant_node.h"
#include "graph/passes/passes.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// Bytes that a folded constant may take beyond the stored constants that it replaces. About the
// size of the removed node, so that shapes and scalars always fold.
constexpr std::int64_t kFreeBytes = 256;

bool is_kept(const Node& node) {
  constexpr std::array kKept = {"QuantizeLinear", "DequantizeLinear",  "Bernoulli",
                                "Multinomial",    "RandomNormal",      "RandomNormalLike",
                                "RandomUniform",  "RandomUniformLike", "Constant"};
  return std::any_of(kKept.begin(), kKept.end(),
                     [&](const char* op_type) { return node.op_type == op_type; });
}

// Adds the node's name to errors, because the errors of tensors and shapes do not contain it.
std::optional<std::vector<Tensor>> evaluate_named(const Graph& graph, NodeId id,
                                                  const Evaluate& evaluate) {
  try {
    return evaluate(graph, id);
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string node = graph.describe(id);
    if (message.starts_with(node)) throw;
    throw Error(error.code(), to_text(node, ": ", message));
  }
}

// Folds a node if a file that stores its results grows by at most kFreeBytes.
class Folder {
 public:
  Folder(Graph& graph, const Evaluate& evaluate)
      : graph_(graph), evaluate_(evaluate), state_(graph.value_limit()) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      state_[id].stored = graph.is_constant(id) ? graph.value(id).constant->bytes() : 0;
      state_[id].readers = std::ssize(graph.consumers(id)) + (graph.is_output(id) ? 1 : 0);
    }
  }

  void run() {
    for (const NodeId id : graph_.nodes()) {
      const std::vector<ValueId> inputs = inputs_of(id);
      const auto computed =
          std::ranges::count_if(inputs, [&](ValueId input) { return !graph_.is_constant(input); });
      computed == 0 ? queue(id) : static_cast<void>(computed_.emplace(id, computed));
    }
    while (!ready_.empty()) {
      const NodeId id = ready_.front();
      ready_.pop_front();
      visit(id);
    }
  }

 private:
  struct ValueState {
    std::int64_t stored = 0;   // bytes of the model's own constants that it was computed from
    std::int64_t readers = 0;  // number of reading nodes that are not folded
    std::int64_t waiting = 0;  // how many of these wait because their results are too large
  };

  void queue(NodeId id) {
    if (!is_kept(graph_.node(id))) ready_.push_back(id);
  }

  // Notes that an input of a node has become a constant.
  void learn_constant(NodeId id) {
    const auto computed = computed_.find(id);
    if (computed == computed_.end() || --computed->second > 0) return;
    computed_.erase(computed);
    queue(id);
  }

  [[nodiscard]] std::vector<ValueId> inputs_of(NodeId id) const {
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    std::erase(inputs, kNoValue);
    return inputs;
  }

  std::int64_t bytes_of(NodeId id, const std::vector<Tensor>& results) {
    const std::vector<ValueId>& outputs = graph_.node(id).outputs;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != kNoValue && state_[outputs[i]].readers > 0) bytes += results[i].bytes();
    }
    return bytes;
  }

  void visit(NodeId id) {
    std::optional<std::vector<Tensor>> results = evaluate_named(graph_, id, evaluate_);
    if (!results || results->size() < graph_.node(id).outputs.size()) return;
    const std::vector<ValueId> inputs = inputs_of(id);
    std::int64_t freed = 0;
    for (const ValueId input : inputs) {
      if (state_[input].readers == 1) freed += state_[input].stored;
    }
    const std::int64_t bytes = bytes_of(id, *results);
    if (bytes <= freed + kFreeBytes) {
      fold(id, std::move(*results), freed);
    } else {
      waiting_.emplace(id, bytes);
      for (const ValueId input : inputs) ++state_[input].waiting;
    }
    for (const ValueId input : inputs) fold_parts(input);
  }

  // Folds all readers of a constant together if each of them takes a part of it. For example, one
  // tensor may store the weights of three products.
  void fold_parts(ValueId whole) {
    if (state_[whole].waiting == 0 || state_[whole].waiting != state_[whole].readers) return;
    std::vector<NodeId> nodes;
    std::int64_t bytes = 0;
    for (const NodeId reader : graph_.consumers(whole)) {
      const auto found = waiting_.find(reader);
      if (found == waiting_.end()) continue;  // folded
      nodes.push_back(reader);
      bytes += found->second;
    }
    if (bytes > state_[whole].stored + std::ssize(nodes) * kFreeBytes) return;
    std::int64_t freed = state_[whole].stored;
    for (const NodeId id : nodes) {
      std::optional<std::vector<Tensor>> results = evaluate_named(graph_, id, evaluate_);
      if (!results) continue;  // the folding budget is used up: it stays a node
      const std::int64_t part = std::min(freed, waiting_.at(id));
      waiting_.erase(id);
      for (const ValueId input : inputs_of(id)) --state_[input].waiting;
      fold(id, std::move(*results), part);
      freed -= part;
    }
  }

  // `freed`: bytes of stored constants that the results replace.
  void fold(NodeId id, std::vector<Tensor> results, std::int64_t freed) {
    for (const ValueId input : inputs_of(id)) --state_[input].readers;
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoValue) continue;
      if (state_[outputs[i]].readers > 0) {
        state_[outputs[i]].stored = std::min(freed, results[i].bytes());
        freed -= state_[outputs[i]].stored;
      }
      graph_.set_constant(outputs[i], std::make_shared<const Tensor>(std::move(results[i])));
    }
    for (const ValueId output : outputs) {
      if (output == kNoValue) continue;
      for (const NodeId reader : graph_.consumers(output)) learn_constant(reader);
    }
  }

  Graph& graph_;
  const Evaluate& evaluate_;
  IdMap<ValueId, ValueState> state_;
  std::deque<NodeId> ready_;
  std::unordered_map<NodeId, std::int64_t> computed_;  // distinct inputs that are not constant
  std::unordered_map<NodeId, std::int64_t> waiting_;   // bytes of the results
};

}  // namespace

void fold_constant_nodes(Graph& graph) {
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!node.is("Constant") || !node.has_output(0)) continue;
    const ValueId output = node.outputs[0];
    std::shared_ptr<const Tensor> tensor = tensor_of_constant(node);
    if (tensor == nullptr) continue;
    graph.set_constant(output, std::move(tensor));  // also removes it from the node's outputs
  }
  graph.remove_dead_nodes();
}

void fold_constants(Graph& graph, const Evaluate& evaluate) {
  fold_constant_nodes(graph);
  Folder(graph, evaluate).run();
  graph.remove_dead_nodes();
}

}  // namespace qtool
