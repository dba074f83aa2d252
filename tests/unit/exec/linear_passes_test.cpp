// Loading, preparing and compiling take time in proportion to the size of the model, and end when
// asked to.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "calib/decide.h"
#include "exec/memory_plan.h"
#include "exec/plan.h"
#include "exec/step_of.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/places.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

// Processor time, which other work on the machine hardly affects.
double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

Net with_input() {
  Net net;
  net.input("x", {1, 8});
  return net;
}

Graph chain(const std::string& op_type, int count) {
  Net net = with_input();
  std::string last = "x";
  for (int i = 0; i < count; ++i) last = net.op(op_type, to_text("n", i), {last});
  net.output(last);
  return net.graph;
}

// Every second node adds one shared constant, and the others are Identity nodes.
Graph readers_of_one_constant(int count) {
  Net net = with_input();
  net.constant("c", Tensor::scalar<float>(0.5F));
  std::string last = "x";
  for (int i = 0; i < count / 2; ++i) {
    last = net.op("Add", to_text("n", i), {last, "c"});
    last = net.op("Identity", to_text("i", i), {last});
  }
  net.output(last);
  return net.graph;
}

// Constants that are computed from constants, so every node folds.
Graph folded(int count) {
  Net net = with_input();
  std::string last = net.constant("c", Tensor::scalar<float>(0.5F));
  for (int i = 0; i < count; ++i) last = net.op("Neg", to_text("n", i), {last});
  net.output(net.op("Add", "sum", {"x", last}));
  return net.graph;
}

// Sigmoid nodes between Q/DQ pairs, each of which is lowered to integers.
Graph quantized_sigmoids(int count) {
  Net net = with_input();
  net.constant("s", Tensor::scalar<float>(0.02F));
  net.constant("z", Tensor::scalar<std::uint8_t>(10));
  const auto qdq = [&](const std::string& real) {
    return net.op("DequantizeLinear", real + "_dq",
                  {net.op("QuantizeLinear", real + "_q", {real, "s", "z"}), "s", "z"});
  };
  std::string last = qdq("x");
  for (int i = 0; i < count / 3; ++i) last = qdq(net.op("Sigmoid", to_text("n", i), {last}));
  net.output(last);
  return net.graph;
}

// One value that very many nodes read, and a node that reads very many values.
Graph fan(const std::string& op_type, int count) {
  Net net = with_input();
  Node last{"last", op_type, "", {}, {net.graph.add_value("last_out")}, {}};
  if (op_type == "Concat") last.attributes["axis"] = std::int64_t{0};
  for (int i = 0; i < count; ++i) {
    last.inputs.push_back(net.id(net.op("Neg", to_text("n", i), {"x"})));
  }
  net.graph.add_node(std::move(last));
  net.output("last_out");
  return net.graph;
}

// Two nodes with very many outputs. One of them splits a constant, so its outputs fold.
Graph split(int count) {
  Net net;
  net.input("x", {1, count});
  std::vector<ValueId> parts;
  for (int i = 0; i < count; ++i) parts.push_back(net.graph.add_value(to_text("part", i)));
  net.constant("c", Tensor(DType::kFloat32, Shape{1, count}));
  const Node::AttributeMap attributes = {{"axis", std::int64_t{1}}};
  net.graph.add_node({"split", "Split", "", {net.id("x")}, parts, attributes});
  std::vector<ValueId> constants;
  for (int i = 0; i < count; ++i) constants.push_back(net.graph.add_value(to_text("folded", i)));
  net.graph.add_node({"fold", "Split", "", {net.id("c")}, constants, attributes});
  for (int i = 0; i < count; ++i) {
    const std::string sum =
        net.op("Add", to_text("n", i), {to_text("part", i), to_text("folded", i)});
    net.output(net.op("Identity", to_text("y", i), {sum}));
  }
  return net.graph;
}

// A long list of initializers. One node reads their negatives and folds; another reads all of them
// and the input.
Graph initializers(int count) {
  Net net = with_input();
  Node sum{"sum", "Sum", "", {}, {net.graph.add_value("sum_out")}, {}};
  Node all{"all", "Concat", "", {}, {net.graph.add_value("all_out")}, {{"axis", std::int64_t{0}}}};
  for (int i = 0; i < count; ++i) {
    net.constant(to_text("c", i), Tensor::of<float>({1}, {0.5F}));
    sum.inputs.push_back(net.id(to_text("c", i)));
    all.inputs.push_back(net.id(net.op("Neg", to_text("n", i), {to_text("c", i)})));
  }
  sum.inputs.push_back(net.id("x"));
  net.graph.add_node(std::move(sum));
  net.graph.add_node(std::move(all));
  net.output("sum_out");
  net.output("all_out");
  return net.graph;
}

// Every node becomes three when it is upgraded.
Graph upgraded(int count) {
  Graph graph = chain("Mish", count);
  graph.info.opsets[""] = 18;
  return graph;
}

// Lowering makes each node move integers and adds a node after it.
Graph moved(int count) {
  Net net = with_input();
  net.constant("s", Tensor::scalar<float>(0.02F));
  net.constant("z", Tensor::scalar<std::uint8_t>(10));
  std::string last = net.op("QuantizeLinear", "q", {"x", "s", "z"});
  last = net.op("DequantizeLinear", "d", {last, "s", "z"});
  for (int i = 0; i < count; ++i) last = net.op("Transpose", to_text("n", i), {last});
  net.output(last);
  return net.graph;
}

// A network that ends in an unknown operator with very many inputs: a tail that no plan can hold.
Graph tail(int count) {
  Net net = with_input();
  Node last{"last", "Unknown", "elsewhere", {}, {net.graph.add_value("last_out")}, {}};
  for (int i = 0; i < count; ++i) {
    last.inputs.push_back(net.id(net.op("Relu", to_text("n", i), {"x"})));
  }
  net.graph.add_node(std::move(last));
  net.output("last_out");
  return net.graph;
}

// This number of nodes takes about one second. Passes that were not linear took 17 and 24 s.
constexpr int kMany = kSanitized ? 10'000 : 100'000;
constexpr double kMaxSeconds = 10.0;

// `seconds_for(nodes)`: the time that so many nodes take. A machine whose memory is busy may need
// more than the limit, but then it also needs long for a quarter of the nodes. Linear passes take 4
// to 6 times as long for all of them, quadratic ones about 13 times.
void expect_linear(const std::function<double(int nodes)>& seconds_for) {
  const double all = seconds_for(kMany);
  if (all < kMaxSeconds) return;
  EXPECT_LT(all, 8.0 * seconds_for(kMany / 4));
}

struct Model {
  const char* name;
  Graph (*build)(int count);
};
void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class LinearPasses : public testing::TestWithParam<Model> {};

TEST_P(LinearPasses, EndSoonForVeryManyNodes) {
  expect_linear([](int nodes) {
    const std::string bytes = save_onnx_bytes(GetParam().build(nodes));
    return seconds_of([&] {
      const Executor executor(prepare(load_onnx_bytes(bytes, "", "model")));
      static_cast<void>(executor.compile({}));
    });
  });
}

INSTANTIATE_TEST_SUITE_P(
    Models, LinearPasses,
    testing::Values(Model{"identities", [](int count) { return chain("Identity", count); }},
                    Model{"activations", [](int count) { return chain("Relu", count); }},
                    Model{"one_constant", readers_of_one_constant}, Model{"folded", folded},
                    Model{"quantized", quantized_sigmoids},
                    Model{"fan_to_a_concat", [](int count) { return fan("Concat", count); }},
                    Model{"fan_to_a_sum", [](int count) { return fan("Sum", count); }},
                    Model{"split", split}, Model{"initializers", initializers},
                    Model{"upgraded", upgraded}, Model{"moved", moved}, Model{"tail", tail}),
    [](const auto& test) { return std::string(test.param.name); });

// Placement, the choice of scales and zero points, and emission look up tensors in a table, and
// also the readers of one zero point.
TEST(Quantize, EndsSoonForVeryManyNodes) {
  expect_linear([](int nodes) {
    Net net = with_input();
    std::string last = "x";
    for (int i = 0; i < nodes; ++i) last = net.op("Relu", to_text("n", i), {last});
    net.constant("w", Tensor(DType::kFloat32, Shape{8, 8}));
    net.output(net.op("MatMul", "end", {last, "w"}));  // without a product nothing is quantized
    const Graph& graph = net.graph;
    CalibrationTable table;
    for (const std::string& name : tensors_to_calibrate(graph, find_target("cpu"))) {
      ActivationEntry entry;
      entry.tensor = name;
      entry.range = {-1.0F, 1.0F};
      entry.affine = choose_affine(entry.range, find_target("cpu").activations);
      table.activations.push_back(entry);
    }
    EXPECT_GE(std::ssize(table.activations), nodes);
    return seconds_of([&] { static_cast<void>(quantize(graph, table)); });
  });
}

// Reports name each step after the node that it computes.
TEST(NamedSteps, EndsSoonForVeryManySteps) {
  Net net = with_input();
  ValueId last = net.id("x");
  for (int i = 0; i < kMany; ++i) {
    const ValueId next = net.graph.add_value(to_text("t", i));
    net.graph.add_node({"", "Abs", "", {last}, {next}, {}});
    last = next;
  }
  net.graph.add_output(last);
  const Executor executor(net.graph);
  const std::vector<StepInfo> steps = executor.compile({})->steps();
  EXPECT_EQ(std::ssize(steps), kMany);
  std::vector<StepInfo> named;
  EXPECT_LT(seconds_of([&] { named = named_steps(steps, executor.graph()); }), kMaxSeconds);
  EXPECT_EQ(named.back().node, to_text("t", kMany - 1));
}

// If a value of a subgraph has the name of a value of the outer graph, it gets another name in a
// file.
TEST(SaveOnnx, EndsSoonForVeryManyClashesOfNames) {
  constexpr int kClashes = kMany / 5;
  Net body;
  body.input("x", {1, 8});
  const ValueId inner = body.graph.add_value("v");
  body.graph.add_node({"", "Neg", "", {body.id("x")}, {inner}, {}});
  body.graph.add_output(inner);
  const auto branch = std::make_shared<const Subgraph>(Subgraph{body.graph, 1});
  Net net = with_input();
  ValueId last = net.id("x");
  const auto add = [&](const std::string& name, Node node) {
    const ValueId next = net.graph.add_value(name);
    node.outputs = {next};
    net.graph.add_node(std::move(node));
    last = next;
  };
  for (int i = 0; i < kClashes; ++i) {
    add(i == 0 ? "v" : to_text("v_", i), {"", "Relu", "", {last}, {}, {}});
  }
  const ValueId condition = net.graph.add_value("c");
  net.graph.declare(condition, DType::kBool, std::vector<Dim>());
  net.graph.add_input(condition);
  for (int i = 0; i < kClashes; ++i) {
    add(to_text("if", i), {"",
                           "If",
                           "",
                           {condition, last, last},
                           {},
                           {{"then_branch", branch}, {"else_branch", branch}}});
  }
  net.graph.add_output(last);
  EXPECT_LT(seconds_of([&] {
              static_cast<void>(save_onnx_bytes(net.graph));
              static_cast<void>(fingerprint(net.graph));
            }),
            kMaxSeconds);
}

TEST(AddAliases, EndsSoonForVeryManyNames) {
  Graph prepared;
  CalibrationTable table;
  for (int i = 0; i < kMany; ++i) {
    prepared.info.aliases[to_text("gone", i)] = to_text("t", i % 7 == 0 ? -1 : i);
    table.activations.emplace_back().tensor = to_text("t", i);
  }
  EXPECT_LT(seconds_of([&] { add_aliases(prepared, table); }), kMaxSeconds);
  EXPECT_EQ(std::ssize(table.aliases), kMany - (kMany + 6) / 7);
}

TEST(AssignOffsets, TakesTheSameGapsAsALookAtAllStorages) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<Storage> storages(60);
    for (Storage& s : storages) {
      s.bytes = static_cast<std::int64_t>(random() % 3000);
      s.first_step = static_cast<std::int32_t>(random() % 40);
      s.last_step = s.first_step + static_cast<std::int32_t>(random() % (round % 2 == 0 ? 4 : 30));
    }
    std::vector<Storage> expected = storages;
    std::vector<std::size_t> order(expected.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return expected[a].bytes > expected[b].bytes;
    });
    std::vector<std::size_t> placed;
    for (const std::size_t i : order) {
      Storage& s = expected[i];
      s.offset = 0;
      std::stable_sort(placed.begin(), placed.end(), [&](std::size_t a, std::size_t b) {
        return expected[a].offset < expected[b].offset;
      });
      for (const std::size_t other : placed) {
        const Storage& o = expected[other];
        if (o.first_step > s.last_step || s.first_step > o.last_step) continue;
        if (s.offset + (s.bytes + 63) / 64 * 64 <= o.offset) break;
        s.offset = std::max(s.offset, o.offset + (o.bytes + 63) / 64 * 64);
      }
      placed.push_back(i);
    }
    static_cast<void>(assign_offsets(storages));
    for (std::size_t i = 0; i < storages.size(); ++i) {
      ASSERT_EQ(storages[i].offset, expected[i].offset) << "round " << round << ", storage " << i;
    }
  }
}

// If all storages live at the same time, there are no gaps between them, and searching for one must
// not take long.
TEST(AssignOffsets, EndsSoonWhereVeryManyLiveAtOnce) {
  std::vector<Storage> storages(kMany);
  for (std::size_t i = 0; i < storages.size(); ++i) {
    storages[i].bytes = 64;
    storages[i].first_step = static_cast<std::int32_t>(i);
    storages[i].last_step = kMany;
  }
  EXPECT_LT(seconds_of([&] { EXPECT_EQ(assign_offsets(storages), std::int64_t{64} * kMany); }),
            kMaxSeconds);
}

// Runs `work` with a stop check that answers `questions` calls with no. Returns the code of the
// Error (kUsage if there is none) and the number of calls.
std::pair<ErrorCode, int> stop_at_question(int questions,
                                           const std::function<void(StopCheck)>& work) {
  int asked = 0;
  try {
    work([&] { return ++asked > questions; });
  } catch (const Error& error) {
    return {error.code(), asked};
  }
  return {ErrorCode::kUsage, asked};
}

TEST(StopCheck, EndsLoadingPreparingAndCompiling) {
  const Graph graph = readers_of_one_constant(200);
  const std::string bytes = save_onnx_bytes(graph);
  const auto load = [&](const StopCheck& stop) {
    static_cast<void>(load_onnx_bytes(bytes, "", "model", stop));
  };
  const auto fold = [&](const StopCheck& stop) { static_cast<void>(prepare(folded(200), stop)); };
  const auto compile = [&](const StopCheck& stop) {
    const Executor executor(graph, stop);
    static_cast<void>(executor.compile({}));
  };
  for (const std::function<void(StopCheck)>& work :
       {std::function<void(StopCheck)>(load), std::function<void(StopCheck)>(fold),
        std::function<void(StopCheck)>(compile)}) {
    for (const int questions : {0, 3, 150}) {
      const auto [code, asked] = stop_at_question(questions, work);
      EXPECT_EQ(code, ErrorCode::kCancelled);
      EXPECT_EQ(asked, questions + 1);  // and no more
    }
    const auto [code, asked] = stop_at_question(std::numeric_limits<int>::max(), work);
    EXPECT_EQ(code, ErrorCode::kUsage);  // came to its end
    EXPECT_GE(asked, 200);               // at least once per node
  }
}

TEST(StopCheck, LeavesAnExecutorThatCanCompileAgain) {
  bool stop = true;
  const Executor executor(readers_of_one_constant(20), [&] { return stop; });
  EXPECT_THROW(static_cast<void>(executor.compile({})), Error);
  stop = false;
  EXPECT_NE(executor.compile({}), nullptr);
}

}  // namespace
}  // namespace qtool
