// Convolutions take in a LeakyRelu or PRelu, factors behind it, the sum with a shortcut and the
// rounding. The bytes are those of the same nodes, run one by one, but for ties.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/exec/executor.h"
#include "unit/qdq_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

struct SlopeNet : QdqNet {
  std::string x() { return qdq("x", 0.02F, 117); }
  std::string conv(const std::string& from, const Shape& w,
                   const Node::AttributeMap& attributes = {}) {
    return op("Conv", "c", {from, weights("w", w, 0), bias("b", w[0])}, attributes);
  }
  std::string prelu(const std::string& from, std::int64_t channels) {
    constant("slopes", random_floats({channels, 1, 1}, 20, -0.5F, 1.5F));
    return op("PRelu", "prelu", {from, "slopes"});
  }
  std::string factors(const std::string& from, const Shape& shape) {
    constant("factors", random_floats(shape, 21, 0.3F, 2.0F));
    return op("Mul", "scaled", {from, "factors"});
  }
};

struct SlopeCase {
  const char* name;
  std::function<std::string(SlopeNet&)> build;  ///< what is rounded
  std::string observed;                         ///< observing this tensor keeps the nodes apart
};

void PrintTo(const SlopeCase& c, std::ostream* out) { *out << c.name; }

// The steps that compute a function by themselves, or in real numbers behind a convolution.
std::ptrdiff_t functions_of(const Plan& plan) {
  constexpr std::array<std::string_view, 4> kOps = {"Add", "LeakyRelu", "Mul", "PRelu"};
  return std::ranges::count_if(plan.steps(), [&](const StepInfo& step) {
    return std::ranges::find(kOps, step.op_type) != kOps.end() ||
           step.kernel.find("chain of") != std::string::npos;
  });
}

class ConvSlopes : public testing::TestWithParam<SlopeCase> {};

TEST_P(ConvSlopes, HaveTheBytesOfTheirNodes) {
  SlopeNet net;
  net.input("x", {2, 6, 31, 17});
  net.output(net.qdq(GetParam().build(net), 0.05F, 100));
  const Executor executor(prepare(Graph(net.graph)));
  const Tensor input = random_floats({2, 6, 31, 17}, 5, -2.0F, 2.0F);
  const auto run = [&](const CompileOptions& options, bool fused) {
    const auto plan = executor.compile({}, options);
    EXPECT_EQ(functions_of(*plan) == 0, fused);
    Workspace workspace;
    const auto values = plan->run(std::array<TensorView, 1>{input}, workspace)[0].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  CompileOptions apart;
  apart.observe = {GetParam().observed};
  const std::vector<float> expected = run(apart, false);
  EXPECT_GT(std::ranges::count_if(expected, [&](float y) { return y != expected[0]; }), 10);
  for (const int threads : {1, 3}) {
    CompileOptions together;
    together.threads = threads;
    const std::vector<float> found = run(together, true);
    std::size_t others = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], 0.0501F);
      if (found[i] != expected[i]) ++others;
    }
    EXPECT_LE(others, found.size() / 2000);
  }
}

INSTANTIATE_TEST_SUITE_P(
    List, ConvSlopes,
    testing::Values(
        SlopeCase{"LeakyRelu",
                  [](SlopeNet& net) {
                    return net.op("LeakyRelu", "leaky", {net.conv(net.x(), {40, 6, 3, 3})},
                                  {{"alpha", 0.2F}});
                  },
                  "c_out"},
        SlopeCase{"PRelu",
                  [](SlopeNet& net) {
                    return net.prelu(net.conv(net.x(), {75, 6, 1, 1}), 75);
                  },
                  "c_out"},
        SlopeCase{"PReluOfOneSlopeInGroups",
                  [](SlopeNet& net) {
                    const auto y = net.conv(net.x(), {32, 3, 3, 3}, {{"group", std::int64_t{2}}});
                    net.constant("slope", Tensor::of<float>({1}, {0.3F}));
                    return net.op("PRelu", "prelu", {y, "slope"});
                  },
                  "c_out"},
        SlopeCase{"PReluAndFactors",
                  [](SlopeNet& net) {
                    const auto y = net.prelu(net.conv(net.x(), {33, 6, 3, 3}), 33);
                    return net.factors(y, {33, 1, 1});
                  },
                  "prelu_out"},
        SlopeCase{
            "PReluFactorsAndShortcut",
            [](SlopeNet& net) {
              const auto x = net.x();
              const auto y = net.prelu(net.conv(x, {6, 6, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}), 6);
              return net.op("Add", "sum", {net.factors(y, {1, 6, 1, 1}), x});
            },
            "prelu_out"},
        SlopeCase{"ShortcutThatIsTheSecondOperand",
                  [](SlopeNet& net) {
                    const auto x = net.x();
                    const auto y = net.op("LeakyRelu", "leaky", {net.conv(x, {6, 6, 1, 1})});
                    return net.op("Add", "sum", {x, y});
                  },
                  "c_out"},
        SlopeCase{"ShortcutOfAPixelAndClip",
                  [](SlopeNet& net) {
                    const auto x = net.x();
                    const auto y = net.prelu(net.conv(x, {6, 6, 1, 1}), 6);
                    const auto mean = net.qdq(net.op("GlobalAveragePool", "mean", {x}), 0.01F, 90);
                    net.constant("low", Tensor::scalar(-0.5F));
                    net.constant("high", Tensor::scalar(2.5F));
                    const auto sum = net.op("Add", "sum", {mean, y});
                    return net.op("Clip", "clip", {sum, "low", "high"});
                  },
                  "c_out"}),
    [](const auto& each) { return each.param.name; });

// Equal weights are packed once, but not for different slopes. No path of requantization changes
// what a slope does.
TEST(ConvSlopesOf, EqualWeightsStayApart) {
  SlopeNet net;
  net.input("x", {2, 6, 31, 17});
  const auto x = net.x();
  const auto w = net.weights("w", {8, 6, 1, 1}, 0);
  for (const float alpha : {0.1F, 0.7F}) {
    const std::string name = alpha < 0.5F ? "a" : "b";
    const auto c = net.op("Conv", "c" + name, {x, w});
    const auto y = net.op("LeakyRelu", "leaky" + name, {c}, {{"alpha", alpha}});
    net.output(net.qdq(y, 0.05F, 100));
  }
  const Executor executor(prepare(Graph(net.graph)));
  const Tensor input = random_floats({2, 6, 31, 17}, 5, -2.0F, 2.0F);
  const auto run = [&](Requantization path) {
    CompileOptions options;
    options.requantization = path;
    const auto plan = executor.compile({}, options);
    Workspace workspace;
    const auto outputs = plan->run(std::array<TensorView, 1>{input}, workspace);
    std::vector<std::vector<float>> values;
    for (const auto& output : outputs) {
      const auto floats = output.values<float>();
      values.emplace_back(floats.begin(), floats.end());
    }
    return values;
  };
  const auto values = run(Requantization::kFloat);
  EXPECT_EQ(run(Requantization::kGemmlowp), values);
  // At 0.1, a value below 0 is a seventh of the value at 0.7.
  std::size_t below = 0;
  for (std::size_t i = 0; i < values[0].size(); ++i) {
    if (values[1][i] > -0.7F || values[1][i] < -4.9F) continue;  // the bytes end at -5
    ++below;
    ASSERT_NEAR(values[0][i] * 7.0F, values[1][i], 0.3F);
  }
  EXPECT_GT(below, 100U);
}

// Depthwise convolutions do not know several slopes, and a function of factors for each pixel is
// none of channels.
TEST(ConvSlopesOf, OtherNodesStayApart) {
  const auto functions_in = [](const std::function<std::string(SlopeNet&)>& build) {
    SlopeNet net;
    net.input("x", {2, 6, 31, 17});
    net.output(net.qdq(build(net), 0.05F, 100));
    const Executor executor(prepare(Graph(net.graph)));
    return functions_of(*executor.compile({}));
  };
  EXPECT_GT(functions_in([](SlopeNet& net) {
              const auto y = net.conv(net.x(), {6, 1, 3, 3}, {{"group", std::int64_t{6}}});
              return net.prelu(y, 6);
            }),
            0);
  EXPECT_GT(functions_in([](SlopeNet& net) {
              const auto y = net.conv(net.x(), {6, 6, 1, 1});
              net.constant("slopes", random_floats({31, 17}, 20, -0.5F, 1.5F));
              return net.op("PRelu", "prelu", {y, "slopes"});
            }),
            0);
}

}  // namespace
}  // namespace qtool
