#include "analyze/sample_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/random_floats.h"
#include "unit/analyzed_network.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kBatchedSide = 8;

std::vector<Dim> batched_dims(std::optional<std::int64_t> batch) {
  return {{batch, batch ? "" : "N"}, {3, ""}, {kBatchedSide, ""}, {kBatchedSide, ""}};
}

/// Two convolutions. `batch`: the first extent of the input, open if there is none.
Graph batched_network(std::optional<std::int64_t> batch, const std::string& last = "") {
  Net net;
  net.input("x", {1, 3, kBatchedSide, kBatchedSide});
  net.graph.declare(net.id("x"), DType::kFloat32, batched_dims(batch));
  net.constant("a_w", normal_floats(Shape{6, 3, 3, 3}, 1, 0.0F, 0.4F));
  net.constant("b_w", normal_floats(Shape{4, 6, 3, 3}, 2, 0.0F, 0.4F));
  net.op("Conv", "a", {"x", "a_w"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  net.op("Relu", "relu", {"a_out"});
  std::string out = net.op("Conv", "b", {"relu_out", "b_w"});
  if (last == "mixed") {
    net.op("ReduceMean", "mean", {out}, {{"axes", std::vector<std::int64_t>{0}}});
    out = net.op("Sub", "mixed", {out, "mean_out"});
  }
  if (last == "clamped") {  // below the largest value of all samples
    net.op("ReduceMax", "max", {out});
    net.constant("span", Tensor::scalar(2.0F));
    out = net.op("Max", "clamped", {out, net.op("Sub", "least", {"max_out", "span"})});
  }
  if (last == "flat") out = net.op("Flatten", "flat", {out}, {{"axis", std::int64_t{0}}});
  net.output(out);
  return std::move(net.graph);
}

std::shared_ptr<const Plan> plan_together(const Graph& graph, float size = 1.0F) {
  const Executor network(graph);
  std::vector<Tensor> sample;
  sample.push_back(normal_floats(Shape{1, 3, kBatchedSide, kBatchedSide}, 3, 0.0F, 1.0F));
  for (float& value : sample[0].values<float>()) value *= size;
  CompileOptions compile;
  compile.threads = 1;
  compile.keep = true;
  compile.observe = {"relu_out"};
  const auto single = network.compile({{"x", sample[0].shape()}}, compile);
  return together_plan(network, compile, *single, sample);
}

TEST(TogetherPlan, TakesSeveralSamples) {
  const auto plan = plan_together(batched_network(std::nullopt));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->inputs()[0].shape, Shape({kRunTogether, 3, kBatchedSide, kBatchedSide}));
  EXPECT_EQ(plan->outputs()[0].shape[0], kRunTogether);
}

TEST(TogetherPlan, IsNullWhereSamplesCannotRunTogether) {
  EXPECT_EQ(plan_together(batched_network(1)), nullptr) << "the batch is declared";
  EXPECT_EQ(plan_together(batched_network(std::nullopt, "mixed")), nullptr);
  EXPECT_EQ(plan_together(batched_network(std::nullopt, "clamped")), nullptr);
  EXPECT_EQ(plan_together(batched_network(std::nullopt, "flat")), nullptr);
}

// The first image may be black.
TEST(TogetherPlan, FindsMixingByASampleOfZeros) {
  EXPECT_NE(plan_together(batched_network(std::nullopt), 0.0F), nullptr);
  EXPECT_EQ(plan_together(batched_network(std::nullopt, "mixed"), 0.0F), nullptr);
  EXPECT_EQ(plan_together(batched_network(std::nullopt, "clamped"), 0.0F), nullptr);
}

TEST(Stacked, HasTheSamplesOneBehindTheOther) {
  std::vector<LoadedSample> samples(2);
  for (std::size_t i = 0; i < 2; ++i) {
    samples[i].tensors.push_back(normal_floats(Shape{1, 2, 3}, static_cast<unsigned>(i), 0, 1));
  }
  const std::vector<Tensor> all = stacked(samples);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].shape(), Shape({2, 2, 3}));
  const std::array<TensorView, 1> views{TensorView(all[0])};
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorView part = slots_of(views, i, 2).front();
    EXPECT_EQ(part.shape, Shape({1, 2, 3}));
    EXPECT_TRUE(std::ranges::equal(part.values<float>(), samples[i].tensors[0].values<float>()));
  }
}

/// A network that takes any number of images at once.
class AnalyzeTogether : public AnalyzedNetwork {
 protected:
  AnalyzeTogether() : AnalyzedNetwork(batched_network(std::nullopt), kBatchedSide) {
    for (int i = 5; i < 11; ++i) folder_.add(to_name(i), i);
  }
  static std::string to_name(int image) {
    return std::string(1, static_cast<char>('a' + image)) + ".ppm";
  }
};

TEST_F(AnalyzeTogether, DividesImagesIntoGroupsAndTheLastOnesAlone) {
  const auto plan = fp32_.compile({{"x", Shape{1, 3, kBatchedSide, kBatchedSide}}}, {});
  std::vector<std::size_t> sizes(11);
  for (const int threads : {1, 3}) {
    options_.threads = threads;
    std::ranges::fill(sizes, 0U);
    for_each_group(folder_.list(), options_, *plan, "a test", 4,
                   [&](std::span<const LoadedSample> group, int) {
                     sizes[group.front().entry] = group.size();
                   });
    EXPECT_THAT(sizes, testing::ElementsAre(4, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1));
  }
}

// The images of a group run together; the last ones run alone. The figures are those of a network
// that takes one image.
TEST_F(AnalyzeTogether, GivesTheFiguresOfSingleImages) {
  StaticOptions quantize_options;
  quantize_options.bias_correction = BiasCorrection::kTable;
  const Executor int8(prepare(quantize(fp32_.graph(), table_, quantize_options).graph));
  const AnalyzeResult together = analyze(fp32_, int8, folder_.list(), options_);
  Graph one = fp32_.graph();
  one.declare(one.inputs()[0], DType::kFloat32, batched_dims(1));
  const AnalyzeResult alone = analyze(Executor(std::move(one)), int8, folder_.list(), options_);
  EXPECT_EQ(together.images, 11);
  EXPECT_EQ(alone.images, 11);
  EXPECT_NEAR(together.sqnr_db, alone.sqnr_db, 1e-4);
  ASSERT_EQ(together.sources.size(), alone.sources.size());
  for (std::size_t i = 0; i < alone.sources.size(); ++i) {
    const ErrorSource& found = together.sources[i];
    const ErrorSource& expected = alone.sources[i];
    EXPECT_EQ(found.name, expected.name);
    EXPECT_NEAR(found.sqnr_db, expected.sqnr_db, 1e-4) << found.name;
    EXPECT_NEAR(found.local_sqnr_db, expected.local_sqnr_db, 1e-4) << found.name;
    EXPECT_NEAR(found.corrected, expected.corrected, 1e-6) << found.name;
    EXPECT_EQ(found.pairs.size(), expected.pairs.size()) << found.name;
    EXPECT_EQ(found.levels.counts.size(), expected.levels.counts.size()) << found.name;
  }
}

TEST_F(AnalyzeTogether, DoesNotDependOnThreads) {
  const Executor int8(prepare(quantize(fp32_.graph(), table_, StaticOptions()).graph));
  options_.threads = 1;
  const AnalyzeResult one = analyze(fp32_, int8, folder_.list(), options_);
  options_.threads = 3;
  const AnalyzeResult three = analyze(fp32_, int8, folder_.list(), options_);
  ASSERT_EQ(one.sources.size(), three.sources.size());
  for (std::size_t i = 0; i < one.sources.size(); ++i) {
    EXPECT_EQ(one.sources[i].name, three.sources[i].name);
    EXPECT_EQ(one.sources[i].noise, three.sources[i].noise);
  }
}

// Where one image of a group cannot be read, the others of the group run alone.
TEST_F(AnalyzeTogether, LeavesOutABadImageOfAGroup) {
  const Executor int8(prepare(quantize(fp32_.graph(), table_, StaticOptions()).graph));
  ImageSet list = folder_.list();
  list.entries[1].path = folder_.path() / "missing.ppm";
  const AnalyzeResult result = analyze(fp32_, int8, list, options_);
  EXPECT_EQ(result.images, 10);
  EXPECT_THAT(result.bad, testing::SizeIs(1));
}

}  // namespace
}  // namespace qtool
