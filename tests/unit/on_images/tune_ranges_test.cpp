#include "qtool/on_images/tune_ranges.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "support/image_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kTunedSide = 8;

/// Weights of a 1x1 convolution. `factor` multiplies every fourth channel of its output or input,
/// from channel 0 on.
Tensor weights(std::int64_t outputs, std::int64_t inputs, bool of_output, float factor) {
  std::mt19937 random(static_cast<unsigned>(outputs * 10 + inputs));
  std::normal_distribution<float> normal(0.0F, 0.6F);
  Tensor w(DType::kFloat32, Shape{outputs, inputs, 1, 1});
  std::int64_t i = 0;
  for (float& value : w.values<float>()) {
    const bool first = (of_output ? i / inputs : i % inputs) % 4 == 0;
    value = normal(random) * (first ? factor : 1.0F);
    ++i;
  }
  return w;
}

/// A network with a tensor in which one channel is 30 times as large as the others; the weights of
/// its reader are 0 for that channel. With `joined`, a Concat joins it with another such tensor.
Graph loud_channel(bool joined) {
  Net net;
  net.input("image", {1, 3, kTunedSide, kTunedSide});
  net.constant("loud_w", weights(4, 3, true, 30.0F));
  std::string last = net.op("Conv", "loud", {"image", "loud_w"});
  if (joined) {
    net.constant("other_w", weights(4, 3, true, 20.0F));
    net.op("Conv", "other", {"image", "other_w"});
    last = net.op("Concat", "both", {"loud_out", "other_out"}, {{"axis", std::int64_t{1}}});
  }
  net.constant("reader_w", weights(2, joined ? 8 : 4, false, 0.0F));
  net.output(net.op("Conv", "reader", {last, "reader_w"}));
  return std::move(net.graph);
}

struct Tuned {
  explicit Tuned(Graph graph) : fp32(prepare(std::move(graph))) {
    run.preprocess.mean = {127.5F};
    run.preprocess.std = {64.0F};
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = run.preprocess;
    calibrate_options.method = "minmax";
    table = calibrate(fp32, folder.list(), calibrate_options).table;
  }
  [[nodiscard]] RangeTuning tune(int threads = 1) {
    run.threads = threads;
    return tune_ranges(fp32, table, options, {}, folder.list(), run);
  }

  const ImageFolder folder{kTunedSide, 6};
  Executor fp32;
  CalibrationTable table;
  StaticOptions options;
  SampleRunOptions run;
};

TEST(TuneRanges, CutsOffWhatNobodyReads) {
  Tuned tuned(loud_channel(false));
  const RangeTuning result = tuned.tune();
  EXPECT_FALSE(result.refused);
  ASSERT_TRUE(result.ranges.contains("loud_out"));
  const Range before = tuned.table.find("loud_out")->range;
  const Range after = result.ranges.at("loud_out");
  EXPECT_NEAR(after.max, 0.5F * before.max, 0.02F * before.max);
  EXPECT_NEAR(after.min, 0.5F * before.min, -0.02F * before.min);
  // Half the range gives half the step, which lowers the noise of this tensor by six decibels.
  EXPECT_GT(result.after_db, result.before_db + 3.0);
  Learned learned;
  learned.tuned_ranges = result.ranges;
  const Quantized quantized = quantize(tuned.fp32.graph(), tuned.table, tuned.options, learned);
  EXPECT_EQ(quantized.report.tuned_ranges, std::ssize(result.ranges));
  EXPECT_EQ(quantized.graph.info.metadata.at("qtool.tuned_ranges"),
            std::to_string(result.ranges.size()));
}

TEST(TuneRanges, DoesNotDependOnThreads) {
  Tuned tuned(loud_channel(true));
  const RangeTuning one = tuned.tune(1);
  const RangeTuning three = tuned.tune(3);
  EXPECT_EQ(one.ranges, three.ranges);
  EXPECT_EQ(one.before_db, three.before_db);
  EXPECT_EQ(one.after_db, three.after_db);
}

TEST(TuneRanges, LeavesWhatTheUserGave) {
  Tuned tuned(loud_channel(false));
  for (ActivationEntry& entry : tuned.table.activations) entry.origin = Origin::kUser;
  const RangeTuning result = tuned.tune();
  EXPECT_EQ(result.tried, 0);
  EXPECT_TRUE(result.ranges.empty());
  EXPECT_EQ(result.after_db, result.before_db);
  // quantize() does not replace the user's range by a tuned one either.
  Learned learned;
  learned.tuned_ranges["loud_out"] = {-1.0F, 1.0F};
  const Quantized quantized = quantize(tuned.fp32.graph(), tuned.table, tuned.options, learned);
  EXPECT_EQ(quantized.report.tuned_ranges, 0);
  EXPECT_FALSE(quantized.graph.info.metadata.contains("qtool.tuned_ranges"));
}

TEST(TuneRanges, GivesTheOperandsOfAConcatOneRange) {
  Tuned tuned(loud_channel(true));
  const RangeTuning result = tuned.tune();
  ASSERT_EQ(result.ranges.contains("loud_out"), result.ranges.contains("other_out"));
  ASSERT_TRUE(result.ranges.contains("loud_out"));
  EXPECT_EQ(result.ranges.at("loud_out"), result.ranges.at("other_out"));
  Learned learned;
  learned.tuned_ranges = result.ranges;
  const Quantized quantized = quantize(tuned.fp32.graph(), tuned.table, tuned.options, learned);
  EXPECT_TRUE(quantized.report.unequal_concats.empty());
}

TEST(TuneRanges, TakesASingleImage) {
  Tuned tuned(loud_channel(false));
  const RangeTuning result = tune_ranges(tuned.fp32, tuned.table, tuned.options, {},
                                         Samples(tuned.folder.list()).spread(1), tuned.run);
  EXPECT_TRUE(result.ranges.contains("loud_out"));
}

TEST(TuneRanges, OfANetworkWithoutIntegersChangesNothing) {
  Tuned tuned(loud_channel(false));
  tuned.options.exclude = {"*"};
  const RangeTuning result = tuned.tune();
  EXPECT_EQ(result.tried, 0);
  EXPECT_TRUE(result.ranges.empty());
}

TEST(TuneRanges, CountsProgressUpToTheEndAndCanBeStopped) {
  Tuned tuned(loud_channel(false));
  std::int64_t last = 0;
  tuned.run.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done;
    return ProgressAnswer::kContinue;
  };
  static_cast<void>(tuned.tune());
  EXPECT_GT(last, 0);
  tuned.run.progress = {};
  tuned.run.stop = [] { return true; };
  EXPECT_THROW(static_cast<void>(tuned.tune()), Error);
}

}  // namespace
}  // namespace qtool
