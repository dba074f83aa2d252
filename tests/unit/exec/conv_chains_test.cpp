// Convolutions, the functions behind them and the rounding of their result run as one operator. The
// bits are those of the same nodes, run one by one. Bytes of a curve may differ near a tie, and
// both bytes of a curve by a step of the second one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "qtool/exec/executor.h"
#include "unit/qdq_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

/// A convolution, what is behind it, and the names of tensors that only unfused plans have.
class ChainedNet : public QdqNet {
 public:
  std::vector<std::string> between;
  bool all_wide = false;  ///< every output keeps 16 bits
  /// The zero point of second bytes. Only with that of the quantizer, 128, there are wide curves.
  std::int32_t rest_zero_point = 127;

  /// A convolution of u8 input.
  std::string conv(const std::string& x, const std::string& name, const Shape& w,
                   const Node::AttributeMap& attributes = {}, bool with_bias = true) {
    const std::string b = with_bias ? bias(name + "_b", w[0]) : "";
    between.push_back(op("Conv", name, {x, weights(name + "_w", w, 0), b}, attributes));
    return between.back();
  }
  /// The sum of the convolutions of both bytes of `x`, a tensor that keeps 16 bits.
  std::string wide_conv(const std::string& x, const std::string& name, const Shape& w,
                        const Node::AttributeMap& attributes = {}) {
    const auto [high, low] = both_bytes(x, name);
    const std::string first = conv(high, name + "_high", w, attributes);
    return op("Add", name, {first, conv(low, name + "_low", w, attributes, false)});
  }
  /// Makes both bytes of a tensor graph outputs.
  void output_wide(const std::string& x) {
    const auto [high, low] = both_bytes(x, x + "_y");
    output(op("Add", x + "_sum", {high, low}));
  }
  void output_narrow(const std::string& x) {
    if (all_wide) return output_wide(x);
    output(qdq(x, 0.05F, 100));
  }
  std::string silu(const std::string& x, const std::string& name = "silu") {
    return op("Mul", name, {x, op("Sigmoid", name + "_gate", {x})});
  }
  /// `x` times one factor per channel.
  std::string scaled(const std::string& x, std::int64_t channels, float least = 0.3F) {
    constant("factors", random_floats({channels, 1, 1}, 21, least, 2.0F));
    return op("Mul", "scaled", {x, "factors"});
  }

 private:
  std::pair<std::string, std::string> both_bytes(const std::string& x, const std::string& name) {
    const std::string high = qdq(x, 0.03F, 120);
    return {high, qdq(op("Sub", name + "_rest", {x, high}), 0.03F / 254.0F, rest_zero_point)};
  }
};

struct ChainCase {
  const char* name;
  Shape shape;  // of the input "x"
  std::function<void(ChainedNet&)> build;
  bool has_curve = true;       ///< if the output is narrow
  bool has_wide_curve = true;  ///< if the output is wide
  bool is_narrow = false;      ///< of the wide cases: the output is narrow
};

void PrintTo(const ChainCase& c, std::ostream* out) { *out << c.name; }

// Large enough for several bands.
const Shape kLarge{2, 6, 61, 50};

std::vector<ChainCase> narrow_cases() {
  const auto x = [](ChainedNet& net) { return net.qdq("x", 0.02F, 117); };
  return {
      {"Silu", kLarge,
       [=](ChainedNet& net) {
         net.output_narrow(
             net.silu(net.conv(x(net), "c", {24, 6, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}})));
       }},
      {"LeakyReluBehindDepthwise", kLarge,
       [=](ChainedNet& net) {
         const auto y = net.conv(x(net), "c", {6, 1, 3, 3}, {{"group", std::int64_t{6}}});
         net.output_narrow(net.op("LeakyRelu", "leaky", {y}, {{"alpha", 0.2F}}));
       }},
      {"HardSwishBehindStridesAndDilations", kLarge,
       [=](ChainedNet& net) {
         net.output_narrow(net.op("HardSwish", "swish",
                                  {net.conv(x(net), "c", {72, 6, 3, 2},
                                            {{"strides", Ints{2, 1}},
                                             {"dilations", Ints{3, 2}},
                                             {"pads", Ints{4, 0, 2, 1}}})}));
       }},
      {"KinkBesideZero", kLarge,
       [=](ChainedNet& net) {
         net.constant("moved", Tensor::scalar(0.3137F));
         const auto y = net.op("Add", "sum", {net.conv(x(net), "c", {40, 6, 1, 1}), "moved"});
         net.output_narrow(net.op("LeakyRelu", "leaky", {y}, {{"alpha", 0.2F}}));
       },
       false, false},
      {"DepthwiseWithoutBias", kLarge,
       [=](ChainedNet& net) {
         const auto y = net.conv(x(net), "c", {6, 1, 5, 5},
                                 {{"group", std::int64_t{6}}, {"pads", Ints{2, 2, 2, 2}}}, false);
         net.output_narrow(net.op("Tanh", "tanh", {y}));
       }},
      {"GroupsAndClip", kLarge,
       [=](ChainedNet& net) {
         net.constant("low", Tensor::scalar(-0.5F));
         net.constant("high", Tensor::scalar(2.5F));
         const auto y = net.conv(x(net), "c", {32, 3, 3, 3}, {{"group", std::int64_t{2}}});
         net.output_narrow(net.op("Clip", "clip", {net.silu(y), "low", "high"}));
       },
       true, false},
      {"ShortcutBehindTheFunction", kLarge,
       [=](ChainedNet& net) {
         const auto input = x(net);
         const auto other = net.op("HardSwish", "other", {input});
         const auto y = net.silu(net.conv(input, "c", {6, 6, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}));
         net.output_narrow(net.op("Add", "sum", {other, y}));
       },
       false, false},
      {"FactorsOfChannels", kLarge,
       [=](ChainedNet& net) {
         const auto y = net.conv(x(net), "c", {75, 6, 3, 3});
         net.output_narrow(net.scaled(net.silu(y), 75));
       }},
      {"FactorsOfChannelsBehindDepthwise", kLarge,
       [=](ChainedNet& net) {
         const auto y = net.conv(x(net), "c", {6, 1, 3, 3}, {{"group", std::int64_t{6}}});
         net.output_narrow(net.scaled(net.silu(y), 6));
       }},
      {"FactorsBelowZero", kLarge,
       [=](ChainedNet& net) {
         const auto y = net.conv(x(net), "c", {8, 6, 3, 3});
         net.constant("minus", Tensor::of<float>({8, 1, 1}, std::vector<float>(8, -0.5F)));
         net.output_narrow(net.op("Mul", "scaled", {net.silu(y), "minus"}));
       },
       false, false},
      {"FactorsFarApart", kLarge,
       [=](ChainedNet& net) {
         const auto y = net.conv(x(net), "c", {75, 6, 3, 3});
         net.output_narrow(net.scaled(net.silu(y), 75, 0.0F));
       }},
      {"WindowsInThePaddingAboveAndBelow",
       {1, 4, 3, 900},
       [=](ChainedNet& net) {
         net.output_narrow(
             net.silu(net.conv(x(net), "c", {16, 4, 2, 1}, {{"pads", Ints{5, 0, 7, 0}}})));
       }},
      {"DepthwiseInThePadding",
       {1, 32, 3, 70},
       [=](ChainedNet& net) {
         net.output_narrow(
             net.silu(net.conv(x(net), "c", {32, 1, 3, 3},
                               {{"group", std::int64_t{32}}, {"pads", Ints{12, 1, 9, 1}}})));
       }},
      {"OneWindowInThePadding",
       {1, 4, 1, 8},
       [=](ChainedNet& net) {
         net.output_narrow(net.silu(net.conv(
             x(net), "c", {8, 4, 2, 1}, {{"strides", Ints{5, 1}}, {"pads", Ints{4, 0, 0, 0}}})));
       }},
      {"PointwiseWithPadding", kLarge,
       [=](ChainedNet& net) {
         net.output_narrow(
             net.silu(net.conv(x(net), "c", {24, 6, 1, 1}, {{"pads", Ints{1, 2, 3, 1}}})));
       }},
      {"LongRow",
       {2, 6, 1, 5000},
       [=](ChainedNet& net) {
         net.output_narrow(net.silu(net.conv(
             x(net), "c", {24, 6, 1, 7},
             {{"strides", Ints{1, 2}}, {"dilations", Ints{1, 3}}, {"pads", Ints{0, 4, 0, 9}}})));
       }},
      {"FewPixelsOfManyChannels",
       {1, 300, 1, 2},
       [=](ChainedNet& net) {
         net.output_narrow(net.silu(net.conv(x(net), "c", {400, 300, 1, 1})));
       }},
      {"OneRow",
       {3, 5, 1, 7},
       [=](ChainedNet& net) {
         net.output_narrow(net.silu(net.conv(x(net), "c", {9, 5, 1, 1})));
       }},
  };
}

std::vector<ChainCase> wide_cases() {
  const Node::AttributeMap same{{"pads", Ints{1, 1, 1, 1}}};
  return {
      {"BothBytesThenSilu", kLarge,
       [=](ChainedNet& net) {
         net.output_wide(net.silu(net.wide_conv("x", "c", {24, 6, 3, 3}, same)));
       }},
      {"NoFunction", kLarge,
       [=](ChainedNet& net) {
         net.output_wide(net.wide_conv("x", "c", {24, 6, 3, 3}, same));
       }},
      {"Relu", kLarge,
       [=](ChainedNet& net) {
         net.output_wide(net.op("Relu", "relu", {net.wide_conv("x", "c", {24, 6, 1, 1})}));
       }},
      {"OneByteIn", kLarge,
       [=](ChainedNet& net) {
         net.output_wide(net.silu(net.conv(net.qdq("x", 0.02F, 117), "c", {24, 6, 3, 3}, same)));
       }},
      {"OneByteOut", kLarge,
       [=](ChainedNet& net) {
         net.output_narrow(net.silu(net.wide_conv("x", "c", {24, 6, 3, 3}, same)));
       },
       true, true, true},
      {"FactorsPerChannel", kLarge,
       [=](ChainedNet& net) {
         net.output_wide(net.scaled(net.silu(net.wide_conv("x", "c", {24, 6, 3, 3}, same)), 24));
       }},
      {"FactorsWithoutAFunction",
       {1, 6, 9, 9},
       [=](ChainedNet& net) {
         net.output_wide(net.scaled(net.wide_conv("x", "c", {24, 6, 3, 3}, same), 24));
       }},
      {"Depthwise", kLarge,
       [=](ChainedNet& net) {
         Node::AttributeMap attributes = same;
         attributes["group"] = std::int64_t{6};
         attributes["strides"] = Ints{2, 2};
         net.output_wide(net.silu(net.wide_conv("x", "c", {6, 1, 3, 3}, attributes)));
       }},
      {"SumOfTwoConvolutions", kLarge,
       [=](ChainedNet& net) {
         const auto a = net.wide_conv("x", "a", {24, 6, 3, 3}, same);
         const auto b =
             net.conv(net.qdq(net.op("Identity", "twin", {"x"}), 0.02F, 117), "b", {24, 6, 1, 1});
         net.output_wide(net.op("Relu", "relu", {net.op("Add", "sum", {a, net.silu(b)})}));
       }},
  };
}

/// What a network gives with a node for each function, and fused with each number of threads.
struct ChainResults {
  std::vector<float> apart;
  std::vector<std::vector<float>> together;
  bool has_chain = false;  ///< whether an operator of the fused plan runs a chain in float
};

void run_chains(const ChainCase& chain, ChainedNet net, ChainResults& results) {
  net.input("x", chain.shape.dims());
  chain.build(net);
  const Executor executor(prepare(Graph(net.graph)));
  const std::vector<Tensor> inputs = [&] {
    std::vector<Tensor> made;
    made.push_back(random_floats(chain.shape, 5, -2.0F, 2.0F));
    return made;
  }();
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const auto run = [&](const CompileOptions& options) {
    const auto plan = executor.compile({}, options);
    Workspace workspace;
    const auto values = plan->run(views, workspace)[0].values<float>();
    results.has_chain = std::ranges::any_of(plan->steps(), [](const StepInfo& step) {
      return step.kernel.find("chain of") != std::string::npos;
    });
    const auto roundings = std::ranges::count(plan->steps(), "QuantizeLinear", &StepInfo::op_type);
    return std::pair(std::vector<float>(values.begin(), values.end()), roundings);
  };
  CompileOptions apart;
  apart.observe = net.between;
  const auto [expected, separate] = run(apart);
  const float first = expected.front();
  EXPECT_GT(std::ranges::count_if(expected, [&](float y) { return y != first; }), 10);
  results.apart = expected;
  for (const int threads : {1, 2, 7}) {
    CompileOptions together;
    together.threads = threads;
    const auto [found, left] = run(together);
    EXPECT_EQ(left, separate - 1);
    results.together.push_back(found);
  }
}

ChainedNet net_of_bytes() { return {}; }
ChainedNet net_of_wide_tensors(std::int32_t rest_zero_point) {
  ChainedNet net;
  net.all_wide = true;
  net.rest_zero_point = rest_zero_point;
  return net;
}

// A curve errs by 0.04 of a step at most, and mostly by less than half of that. So one byte in 25
// may be the one on the other side of a tie; in 20, because chance is in it.
void expect_bytes_but_near_a_tie(const ChainResults& results) {
  for (const std::vector<float>& found : results.together) {
    EXPECT_EQ(found, results.together[0]);
    std::size_t others = 0;
    ASSERT_EQ(found.size(), results.apart.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], results.apart[i], 0.0501F);
      if (found[i] != results.apart[i]) ++others;
    }
    EXPECT_LE(others, found.size() / 20);
  }
}

class NarrowConvChains : public testing::TestWithParam<ChainCase> {};

TEST_P(NarrowConvChains, HaveTheBytesOfTheirNodesButNearATie) {
  ChainResults results;
  ASSERT_NO_FATAL_FAILURE(run_chains(GetParam(), net_of_bytes(), results));
  EXPECT_NE(results.has_chain, GetParam().has_curve);
  expect_bytes_but_near_a_tie(results);
  if (GetParam().has_curve) return;
  for (const std::vector<float>& found : results.together) EXPECT_EQ(found, results.apart);
}

TEST_P(NarrowConvChains, HaveTheBitsOfTheirNodesWithBothBytes) {
  ChainResults results;
  ASSERT_NO_FATAL_FAILURE(run_chains(GetParam(), net_of_wide_tensors(127), results));
  EXPECT_TRUE(results.has_chain);
  for (const std::vector<float>& found : results.together) EXPECT_EQ(found, results.apart);
}

// Both roundings err by half a step of the second byte, and the curve by one at most.
void expect_both_bytes_of_curves(const ChainResults& results) {
  constexpr float kMost = 2.01F * 0.03F / 254.0F;
  for (const std::vector<float>& found : results.together) {
    EXPECT_EQ(found, results.together[0]);
    ASSERT_EQ(found.size(), results.apart.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], results.apart[i], kMost) << i;
    }
  }
}

TEST_P(NarrowConvChains, HaveBothBytesOfACurve) {
  ChainResults results;
  ASSERT_NO_FATAL_FAILURE(run_chains(GetParam(), net_of_wide_tensors(128), results));
  EXPECT_NE(results.has_chain, GetParam().has_wide_curve);
  expect_both_bytes_of_curves(results);
}
INSTANTIATE_TEST_SUITE_P(List, NarrowConvChains, testing::ValuesIn(narrow_cases()),
                         [](const auto& each) { return each.param.name; });

class WideConvChains : public testing::TestWithParam<ChainCase> {};

TEST_P(WideConvChains, HaveTheBitsOfTheirNodes) {
  ChainResults results;
  ASSERT_NO_FATAL_FAILURE(run_chains(GetParam(), net_of_bytes(), results));
  if (GetParam().is_narrow) return expect_bytes_but_near_a_tie(results);
  for (const std::vector<float>& found : results.together) EXPECT_EQ(found, results.apart);
}

TEST_P(WideConvChains, HaveBothBytesOfACurve) {
  ChainedNet net;
  net.rest_zero_point = 128;
  ChainResults results;
  ASSERT_NO_FATAL_FAILURE(run_chains(GetParam(), std::move(net), results));
  if (GetParam().is_narrow) return expect_bytes_but_near_a_tie(results);
  expect_both_bytes_of_curves(results);
}
INSTANTIATE_TEST_SUITE_P(List, WideConvChains, testing::ValuesIn(wide_cases()),
                         [](const auto& each) { return each.param.name; });

// The scale of the positions of a curve may be larger than a float holds, where the scale of the
// sums is not.
TEST(ConvChains, OfHugeScalesNeedNoCurve) {
  ChainedNet net;
  net.input("x", {1, 2, 4, 4});
  net.constant("w_q", random_integers<std::int8_t>({2, 2, 1, 1}, -127, 127, 3));
  net.constant("w_s", Tensor::scalar(1e10F));
  const std::string w = net.op("DequantizeLinear", "w", {"w_q", "w_s"});
  const std::string y = net.op("Conv", "c", {net.qdq("x", 1.0F, 100), w});
  net.output(net.qdq(net.op("LeakyRelu", "leaky", {y}, {{"alpha", 0.1F}}), 1e-30F, 100));
  const Executor executor(prepare(Graph(net.graph)));
  EXPECT_NO_THROW((void)executor.compile({}));
}

}  // namespace
}  // namespace qtool
