// Compares a graph that is edited at random with a naive one: the consumers of the values, the
// operands and the order of the nodes. Some nodes have very many operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/graph/graph.h"

namespace qtool {
namespace {

// A graph that makes the same edits and searches through everything.
struct NaiveGraph {
  std::vector<NodeId> order;
  std::map<NodeId, std::vector<ValueId>> inputs;

  [[nodiscard]] std::set<NodeId> readers(ValueId value) const {
    std::set<NodeId> found;
    for (const auto& [id, reads] : inputs) {
      if (std::ranges::find(reads, value) != reads.end()) found.insert(id);
    }
    return found;
  }
};

class EditedGraphs {
 public:
  explicit EditedGraphs(unsigned seed) : random_(seed) {
    for (int i = 0; i < 12; ++i) {
      const ValueId id = graph.add_value(to_text("v", i));
      graph.add_input(id);
      values_.push_back(id);
    }
  }

  void edit() {
    switch (random_() % 8) {
      case 0:
      case 1:
        return add();
      case 2:
        return remove();
      case 3:
      case 4:
        return set_input();
      case 5:
        return truncate();
      case 6:
        return replace_uses();
      default:
        // A copy must work independently of the original.
        if (random_() % 16 == 0) graph = Graph(graph);
    }
  }

  void compare() const {
    ASSERT_EQ(graph.nodes(), naive.order);
    for (std::size_t i = 0; i < naive.order.size(); ++i) {
      const NodeId id = naive.order[i];
      const NodeId behind = i + 1 < naive.order.size() ? naive.order[i + 1] : kNoNode;
      ASSERT_EQ(graph.node_behind(id), behind);
      ASSERT_EQ(graph.node(id).inputs, naive.inputs.at(id));
    }
    for (const ValueId value : values_) {
      const std::vector<NodeId>& readers = graph.consumers(value);
      const std::set<NodeId> expected = naive.readers(value);
      ASSERT_EQ(readers.size(), expected.size());
      ASSERT_EQ(std::set<NodeId>(readers.begin(), readers.end()), expected);
    }
    graph.check();
  }

  Graph graph;
  NaiveGraph naive;

 private:
  ValueId any_value() { return random_() % 16 == 0 ? kNoValue : values_[random_() % 12]; }
  NodeId any_node() { return naive.order[random_() % naive.order.size()]; }

  void add() {
    Node node;
    node.op_type = "Sum";
    // Sometimes a node has more operands than are searched one by one.
    const std::size_t count = random_() % 8 == 0 ? 20 + random_() % 60 : random_() % 4;
    for (std::size_t i = 0; i < count; ++i) node.inputs.push_back(any_value());
    const std::vector<ValueId> inputs = node.inputs;
    const bool at_end = naive.order.empty() || random_() % 2 == 0;
    const NodeId before = at_end ? kNoNode : any_node();
    const NodeId id = graph.add_node(std::move(node), before);
    naive.order.insert(std::ranges::find(naive.order, before), id);
    naive.inputs[id] = inputs;
  }

  void remove() {
    if (naive.order.size() < 60) return;
    const NodeId id = any_node();
    graph.remove_node(id);
    std::erase(naive.order, id);
    naive.inputs.erase(id);
  }

  void set_input() {
    if (naive.order.empty()) return;
    const NodeId id = any_node();
    std::vector<ValueId>& inputs = naive.inputs.at(id);
    const std::size_t index = random_() % (inputs.size() + 3);
    const ValueId value = any_value();
    graph.set_input(id, index, value);
    if (index >= inputs.size()) inputs.resize(index + 1, kNoValue);
    inputs[index] = value;
  }

  void truncate() {
    if (naive.order.empty()) return;
    const NodeId id = any_node();
    std::vector<ValueId>& inputs = naive.inputs.at(id);
    const std::size_t count = inputs.empty() ? 0 : random_() % inputs.size();
    graph.truncate_inputs(id, count);
    inputs.resize(std::min(count, inputs.size()));
  }

  void replace_uses() {
    const ValueId from = values_[random_() % 12];
    const ValueId to = values_[random_() % 12];
    graph.replace_uses(from, to);
    for (auto& [id, inputs] : naive.inputs) std::ranges::replace(inputs, from, to);
  }

  std::mt19937 random_;
  std::vector<ValueId> values_;
};

TEST(Graph, KnowsReadersAndOrderAfterRandomEdits) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(to_text("seed ", seed));
    EditedGraphs graphs(seed);
    for (int i = 0; i < 600; ++i) {
      graphs.edit();
      if (i % 7 == 0) graphs.compare();
      if (testing::Test::HasFatalFailure()) return;
    }
    graphs.compare();
  }
}

TEST(Graph, KnowsTheOutputsThatANodeLoses) {
  Graph graph;
  const ValueId x = graph.add_value("x");
  graph.add_input(x);
  std::vector<ValueId> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(graph.add_value(to_text("part", i)));
  const NodeId split = graph.add_node({"split", "Split", "", {x}, parts, {}});
  for (const int i : {3, 99, 0, 50}) {
    const auto index = static_cast<std::size_t>(i);
    EXPECT_EQ(graph.output_index(parts[index]), index);
    graph.set_constant(parts[index], std::make_shared<const Tensor>(Tensor::scalar(1.0F)));
    EXPECT_EQ(graph.node(split).outputs[index], kNoValue);
    EXPECT_EQ(graph.value(parts[index]).producer, kNoNode);
  }
  EXPECT_EQ(std::ranges::count(graph.node(split).outputs, kNoValue), 4);
}

TEST(Graph, ReplacesAnOutputInItsPlace) {
  Graph graph;
  std::vector<ValueId> values;
  for (int i = 0; i < 4; ++i) values.push_back(graph.add_value(to_text("v", i)));
  for (int i = 0; i < 3; ++i) graph.add_output(values[static_cast<std::size_t>(i)]);
  graph.replace_output(values[1], values[3]);
  EXPECT_EQ(graph.outputs(), (std::vector<ValueId>{values[0], values[3], values[2]}));
  EXPECT_FALSE(graph.is_output(values[1]));
  EXPECT_TRUE(graph.is_output(values[3]));
  graph.set_outputs({values[2], values[1]});
  EXPECT_FALSE(graph.is_output(values[3]));
  graph.replace_output(values[1], values[0]);
  EXPECT_EQ(graph.outputs(), (std::vector<ValueId>{values[2], values[0]}));
}

}  // namespace
}  // namespace qtool
