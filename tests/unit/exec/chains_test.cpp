// Chains of element-wise functions run as one operator with the bits of their nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"
#include "unit/run_op.h"

namespace qtool {
namespace {

/// A graph that is built node by node. The functions return the names of the outputs.
struct ChainNet {
  Graph graph;

  ChainNet() { graph.info.opsets[""] = 17; }
  std::string input(const std::string& name, const std::vector<std::int64_t>& dims) {
    const ValueId id = graph.add_value(name);
    std::vector<Dim> shape;
    for (const std::int64_t dim : dims) shape.push_back({dim, ""});
    graph.declare(id, DType::kFloat32, shape);
    graph.add_input(id);
    return name;
  }
  std::string number(float value) {
    const std::string name = graph.unique_name("number");
    graph.add_constant(name, Tensor::scalar(value));
    return name;
  }
  std::string op(const std::string& type, const std::vector<std::string>& inputs) {
    const std::string name = graph.unique_name(type);
    std::vector<ValueId> ids;
    for (const std::string& each : inputs) ids.push_back(*graph.find_value(each));
    const ValueId output = graph.add_value(name);
    graph.add_node({name, type, "", ids, {output}, {}});
    return name;
  }
  void output(const std::string& name) { graph.add_output(*graph.find_value(name)); }
};

struct Ran {
  std::vector<std::vector<float>> outputs;
  std::vector<std::string> kernels;
};

Ran run_chain(const Graph& graph, const std::vector<Tensor>& inputs,
              const CompileOptions& options) {
  const auto plan = Executor(graph).compile({}, options);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  Workspace workspace;
  Ran ran;
  for (const TensorView& view : plan->run(views, workspace)) {
    const Tensor tensor = to_tensor(view);
    const auto values = tensor.values<float>();
    ran.outputs.emplace_back(values.begin(), values.end());
  }
  for (const StepInfo& step : plan->steps()) ran.kernels.push_back(step.kernel);
  return ran;
}

/// Checks that the fused plan computes the outputs of the reference. Returns its kernels.
std::vector<std::string> compare(const ChainNet& net, const std::vector<Tensor>& inputs) {
  CompileOptions plain;
  plain.lowering = Lowering::kReference;
  const Ran expected = run_chain(net.graph, inputs, plain);
  for (const int threads : {1, 3}) {
    CompileOptions fused;
    fused.threads = threads;
    EXPECT_EQ(run_chain(net.graph, inputs, fused).outputs, expected.outputs)
        << threads << " threads";
  }
  return run_chain(net.graph, inputs, {}).kernels;
}

std::vector<Tensor> one(const Shape& shape) {
  std::vector<Tensor> inputs;
  inputs.push_back(tests::random_tensor(shape, -6, 6));
  return inputs;
}

TEST(Chains, OfGeluAreOneOperator) {
  for (const bool half_first : {false, true}) {
    ChainNet net;
    const std::string x = net.input("x", {2, 5, 67, 71});
    const std::string bent = net.op("Erf", {net.op("Div", {x, net.number(std::sqrt(2.0F))})});
    const std::string shifted = net.op("Add", {bent, net.number(1.0F)});
    if (half_first) {
      net.output(net.op("Mul", {net.op("Mul", {x, net.number(0.5F)}), shifted}));
    } else {
      net.output(net.op("Mul", {net.op("Mul", {x, shifted}), net.number(0.5F)}));
    }
    EXPECT_EQ(compare(net, one({2, 5, 67, 71})), std::vector<std::string>{"chain of 5"});
  }
}

TEST(Chains, OfSiluAndMishReadTheirInputOnce) {
  ChainNet net;
  const std::string x = net.input("x", {1, 3, 5, 7});
  const std::string silu = net.op("Mul", {x, net.op("Sigmoid", {x})});
  net.output(net.op("Mul", {silu, net.op("Tanh", {net.op("Softplus", {silu})})}));
  EXPECT_EQ(compare(net, one({1, 3, 5, 7})), std::vector<std::string>{"chain of 4"});
}

TEST(Chains, EndWhereSomebodyReadsBetween) {
  ChainNet net;
  const std::string x = net.input("x", {1, 3, 5, 7});
  const std::string middle = net.op("Exp", {net.op("Sigmoid", {x})});
  net.output(middle);
  net.output(net.op("Sub", {net.number(1.0F), net.op("Tanh", {middle})}));
  const std::vector<std::string> expected = {"chain of 2", "chain of 2"};
  EXPECT_EQ(compare(net, one({1, 3, 5, 7})), expected);
}

TEST(Chains, LeaveBroadcastsAlone) {
  ChainNet net;
  const std::string x = net.input("x", {1, 3, 5, 7});
  const std::string y = net.input("y", {1, 3, 1, 1});
  net.output(net.op("Sigmoid", {net.op("Mul", {x, net.op("Sigmoid", {y})})}));
  std::vector<Tensor> inputs = one({1, 3, 5, 7});
  inputs.push_back(tests::random_tensor({1, 3, 1, 1}));
  EXPECT_EQ(compare(net, inputs).size(), 3U);
}

TEST(Chains, LongerThanTheCacheAreSeveral) {
  ChainNet net;
  std::string x = net.input("x", {1, 1, 40, 40});
  for (int i = 0; i < 40; ++i) x = net.op("Mul", {x, net.number(1.01F)});
  net.output(x);
  EXPECT_EQ(compare(net, one({1, 1, 40, 40})).size(), 3U);
}

TEST(Chains, StopAtObservedTensors) {
  ChainNet net;
  const std::string x = net.input("x", {1, 3, 5, 7});
  const std::string inner = net.op("Sigmoid", {x});
  net.output(net.op("Mul", {x, inner}));
  CompileOptions options;
  options.observe = {inner};
  EXPECT_EQ(run_chain(net.graph, one({1, 3, 5, 7}), options).kernels.size(), 2U);
}

/// A network with a convolution of `x`. `function` is applied to its output.
template <typename Function>
ChainNet convolution_with(const Function& function) {
  ChainNet net;
  net.graph.add_constant("w", tests::random_tensor({24, 16, 3, 3}, -0.2F, 0.2F));
  const std::string x = net.input("x", {1, 16, 9, 7});
  net.output(function(net, net.op("Conv", {x, "w"})));
  return net;
}

/// The largest difference between the fused network, whose only step is a convolution, and the one
/// that runs node by node.
double difference_when_fused(const ChainNet& net) {
  const std::vector<Tensor> inputs = one({1, 16, 9, 7});
  CompileOptions plain;
  plain.lowering = Lowering::kReference;
  const std::vector<float> expected = run_chain(net.graph, inputs, plain).outputs.at(0);
  double largest = 0.0;
  for (const int threads : {1, 3}) {
    CompileOptions options;
    options.threads = threads;
    const Ran fused = run_chain(net.graph, inputs, options);
    for (const std::string& kernel : fused.kernels) {
      EXPECT_TRUE(kernel == "reorder" || kernel.find("conv") != std::string::npos ||
                  kernel.find("gemm") != std::string::npos || kernel.find("jit") == 0)
          << kernel;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, static_cast<double>(std::abs(fused.outputs[0][i] - expected[i])));
    }
  }
  return largest;
}

// Results are below 20, so the tolerance is some units in the last place.
constexpr double kLastPlaces = 2e-5;

TEST(Chains, OfSiluRunInsideTheConvolutionBefore) {
  for (const bool sigmoid_first : {false, true}) {
    const ChainNet net = convolution_with([&](ChainNet& n, const std::string& x) {
      const std::string s = n.op("Sigmoid", {x});
      return sigmoid_first ? n.op("Mul", {s, x}) : n.op("Mul", {x, s});
    });
    EXPECT_LT(difference_when_fused(net), kLastPlaces);
  }
}

TEST(Chains, HardSwishAndLeakyReluRunInsideTheConvolutionBefore) {
  for (const std::string function : {"HardSwish", "LeakyRelu"}) {
    const ChainNet net =
        convolution_with([&](ChainNet& n, const std::string& x) { return n.op(function, {x}); });
    EXPECT_LT(difference_when_fused(net), kLastPlaces) << function;
  }
}

TEST(Chains, OfSiluStayWhereTheConvolutionIsReadElsewhere) {
  ChainNet net = convolution_with([](ChainNet& n, const std::string& x) {
    n.output(x);
    return n.op("Mul", {x, n.op("Sigmoid", {x})});
  });
  const std::vector<std::string> kernels = run_chain(net.graph, one({1, 16, 9, 7}), {}).kernels;
  EXPECT_NE(std::ranges::find(kernels, "chain of 1"), kernels.end());
}

TEST(Chains, OfSiluStayWhereTheSigmoidIsObserved) {
  const ChainNet net = convolution_with([](ChainNet& n, const std::string& x) {
    return n.op("Mul", {x, n.op("Sigmoid", {x})});
  });
  for (const NodeId id : net.graph.nodes()) {
    if (net.graph.node(id).is("Mul")) continue;
    CompileOptions options;
    options.observe = {net.graph.value(net.graph.node(id).outputs[0]).name};
    EXPECT_GT(run_chain(net.graph, one({1, 16, 9, 7}), options).kernels.size(), 1U);
  }
}

}  // namespace
}  // namespace qtool
