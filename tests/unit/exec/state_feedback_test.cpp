// Samples that follow each other: audio that is cut into samples, and states that are fed back.
#include "exec/state_feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "answers/answer.h"
#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/samples/samples.h"
#include "support/tensor_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string little_endian(std::uint32_t value, unsigned count) {
  std::string bytes;
  for (unsigned i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(value >> 8U * i & 255U));
  }
  return bytes;
}

// A .wav file of 16-bit integers, or of floats.
std::string wav(const std::vector<float>& values, bool floats = false, unsigned channels = 1) {
  std::string data;
  for (const float value : values) {
    data += floats ? little_endian(std::bit_cast<std::uint32_t>(value), 4)
                   : little_endian(static_cast<std::uint32_t>(static_cast<std::int32_t>(value)), 2);
  }
  const std::uint32_t bits = floats ? 32 : 16;
  const std::string format = little_endian(floats ? 3 : 1, 2) + little_endian(channels, 2) +
                             little_endian(16000, 4) + little_endian(16000 * bits / 8, 4) +
                             little_endian(bits / 8, 2) + little_endian(bits, 2);
  const std::string note = "LIST" + little_endian(3, 4) + std::string("abc\0", 4);  // an odd size
  const std::string body = "WAVE" + note + "fmt " + little_endian(16, 4) + format + "data" +
                           little_endian(static_cast<std::uint32_t>(data.size()), 4) + data;
  return "RIFF" + little_endian(static_cast<std::uint32_t>(body.size()), 4) + body;
}

// state' = state + x, y = state'; both of four values.
Graph running_sum() {
  Net net;
  net.input("x", {1, 4});
  net.input("state", {1, 4});
  const auto sum = net.op("Add", "add", {"x", "state"});
  net.output(net.op("Identity", "first", {sum}));
  net.output(sum);
  return net.graph;
}

TensorReading reading(std::int64_t hop = 0, std::int64_t window = 0) {
  return {{window, hop}, {{"state", "add_out"}}};
}

std::vector<float> first_of(const Samples& samples, std::int64_t i) {
  std::vector<BadImage> bad;
  const auto sample = samples.load(i, {}, BadImages::kFail, bad);
  const auto values = sample->front().values<float>();
  return {values.begin(), values.end()};
}

TEST(Audio, IsCutIntoSamplesThatOverlap) {
  const TensorFolder folder;
  const auto file = folder.add("a.wav", wav({32768.0F * 0.25F, -32768.0F, 16384.0F, 1.0F, 2.0F}));
  const Graph graph = running_sum();
  const Samples samples(list_tensors(file, input_specs(graph), 0, reading(3)));
  ASSERT_EQ(samples.size(), 2);
  EXPECT_THAT(first_of(samples, 0), ElementsAre(0.0F, 0.25F, -1.0F, 0.5F));
  constexpr float kUnit = 1.0F / 32768.0F;
  EXPECT_THAT(first_of(samples, 1), ElementsAre(0.5F, kUnit, 2 * kUnit, 0.0F));
  EXPECT_TRUE(samples.begins(0));
  EXPECT_FALSE(samples.begins(1));
}

TEST(Audio, IsTakenAsAWholeWhereTheExtentIsOpen) {
  const TensorFolder folder;
  folder.add("a.wav", wav({0.5F, -2.0F, 1.0F}, true));
  folder.add("b.wav", wav({3.0F}, true));
  const InputSpec open{"x", DType::kFloat32, {{1, std::nullopt}}};
  const Samples samples(list_tensors(folder.path(), {open}));
  ASSERT_EQ(samples.size(), 2);
  EXPECT_THAT(first_of(samples, 0), ElementsAre(0.5F, -2.0F, 1.0F));
  EXPECT_THAT(first_of(samples, 1), ElementsAre(3.0F));
  const Samples cut(list_tensors(folder.path(), {open}, 0, {{2, 0}, {}}));
  ASSERT_EQ(cut.size(), 3);
  EXPECT_THAT(first_of(cut, 1), ElementsAre(1.0F, 0.0F));
}

std::string audio_refusal(const TensorFolder& folder, const std::string& bytes,
                          const TensorReading& how = {},
                          const InputSpec& spec = {"x", DType::kFloat32, {{1, 4}}}) {
  try {
    const auto file = folder.add("bad.wav", bytes);
    static_cast<void>(list_tensors(file, {spec, {"state", DType::kFloat32, {{1, 4}}}}, 0, how));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Audio, IsRefusedWithAReason) {
  const TensorFolder folder;
  const std::string good = wav({1.0F, 2.0F});
  EXPECT_EQ(audio_refusal(folder, good, reading()), "accepted");
  EXPECT_THAT(audio_refusal(folder, "RIFF", reading()), HasSubstr("is no RIFF WAVE file"));
  EXPECT_THAT(audio_refusal(folder, good.substr(0, 12), reading()), HasSubstr("holds no values"));
  EXPECT_THAT(audio_refusal(folder, good.substr(0, good.size() - 1), reading()),
              HasSubstr("are left"));
  EXPECT_THAT(audio_refusal(folder, wav({1.0F, 2.0F}, false, 2), reading()),
              HasSubstr("has 2 channels, expected 1"));
  std::string eight_bits = good;
  eight_bits[eight_bits.find("fmt ") + 22] = 8;
  EXPECT_THAT(audio_refusal(folder, eight_bits, reading()), HasSubstr("format 1 in 8 bits"));
  EXPECT_THAT(audio_refusal(folder, wav({}), reading()), HasSubstr("at least one element"));
  EXPECT_THAT(audio_refusal(folder, good, reading(5)), HasSubstr("expected 1 to the window of 4"));
  EXPECT_THAT(audio_refusal(folder, good, reading(1, 3)), HasSubstr("takes [1, 4]"));
  EXPECT_THAT(audio_refusal(folder, good, reading(), {"x", DType::kFloat32, {{2, 4}}}),
              HasSubstr("holds one row of values"));
  EXPECT_THAT(audio_refusal(folder, good, {{}, {{"other", "y"}}}), HasSubstr("no input 'other'"));
  EXPECT_THAT(audio_refusal(folder, good, {{}, {{"state", "y"}, {"state", "z"}}}),
              HasSubstr("named twice"));
  EXPECT_THAT(audio_refusal(folder, good, {{}, {{"state", "y"}, {"x", "z"}}}),
              HasSubstr("every input is one"));
}

TEST(States, AreFedBackAndBeginWithZerosInEachFile) {
  const TensorFolder folder;
  folder.add("a.wav", wav({1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, true));
  folder.add("b.wav", wav({5, 5, 5, 5}, true));
  const Executor executor(running_sum());
  const Samples samples(list_tensors(folder.path(), input_specs(executor.graph()), 0, reading()));
  ASSERT_EQ(samples.size(), 4);
  const auto plan = executor.compile({});
  StateFeedback states(samples, *plan);
  Workspace workspace;
  std::vector<float> sums;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    std::vector<BadImage> bad;
    const auto sample = samples.load(i, {}, BadImages::kFail, bad);
    const auto outputs = plan->run(states.inputs(i, *sample), workspace);
    states.keep(outputs);
    sums.push_back(outputs[0].values<float>()[0]);
  }
  EXPECT_THAT(sums, ElementsAre(1, 3, 6, 5));
  EXPECT_EQ(samples.spread(2).size(), 2);
  EXPECT_FALSE(samples.spread(2).begins(1));
  EXPECT_TRUE(samples.part(1, 2).begins(0));
  EXPECT_EQ(samples.part(0, 2).size() + samples.part(1, 2).size(), 4);
  EXPECT_FALSE(samples.part(0, 2).begins(1));
}

TEST(States, MustBeOutputsOfTheInputsShape) {
  const TensorFolder folder;
  const auto file = folder.add("a.wav", wav({1, 1, 1, 1}, true));
  Net net;
  net.input("x", {1, 4});
  net.input("state", {1, 4});
  const auto sum = net.op("Add", "add", {"x", "state"});
  net.constant("axes", Tensor::of<std::int64_t>({1}, {0}));
  net.output(net.op("Unsqueeze", "wide", {sum, "axes"}));
  const Executor executor(net.graph);
  for (const auto& [output, complaint] :
       {std::pair("wide_out", "takes float32 [1, 4]"), {"nothing", "no output 'nothing'"}}) {
    const Samples samples(
        list_tensors(file, input_specs(executor.graph()), 0, {{}, {{"state", output}}}));
    try {
      const StateFeedback states(samples, *executor.compile({}));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(complaint));
    }
  }
}

// The range of the sum comes from a run through the samples in order, and not from each sample
// alone.
TEST(States, AreFedBackInCalibrationAndEvaluation) {
  const TensorFolder folder;
  folder.add("a.wav", wav({1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, true));
  const Executor executor(running_sum());
  const Samples samples(list_tensors(folder.path(), input_specs(executor.graph()), 0, reading()));
  CollectOptions options;
  options.tensors = {"add_out"};
  options.threads = 4;
  const Collection collection = collect(executor, samples, options);
  EXPECT_EQ(collection.tensors[0].statistics.max(), 6.0F);

  Net other;  // adds a tenth of what it should
  other.input("x", {1, 4});
  other.input("state", {1, 4});
  const auto part =
      other.op("Mul", "part", {"x", other.constant("tenth", Tensor::scalar<float>(0.1F))});
  const auto sum = other.op("Add", "add", {part, "state"});
  other.output(other.op("Identity", "first", {sum}));
  other.output(sum);
  const Executor wrong(other.graph);
  EvalOptions eval;
  eval.threads = 4;
  eval.answers.decision = 0.25;
  const EvalResult result = evaluate(executor, &wrong, samples, eval);
  EXPECT_EQ(result.workers, 1);
  EXPECT_NEAR(result.outputs[0].max_abs_error, 6.0 - 0.6, 1e-5);
  EXPECT_EQ(result.answers.decisions->all, 12);
  EXPECT_EQ(result.answers.decisions->equal, 8);  // its sums are 0.1, 0.3 and 0.6
  eval.batch = 2;
  EXPECT_THROW(static_cast<void>(evaluate(executor, &wrong, samples, eval)), Error);
}

TEST(BestPath, MergesRepeatsAndLeavesOutTheBlank) {
  const auto text = [](const std::vector<int>& steps) {
    std::vector<float> scores;
    for (const int best : steps) {
      for (int c = 0; c < 4; ++c) scores.push_back(c == best ? 1.0F : 0.0F);
    }
    return best_path(scores, 4, 0);
  };
  EXPECT_THAT(text({0, 1, 1, 0, 1, 2, 2, 3, 0}), ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(text({0, 0}), ElementsAre());
  EXPECT_THAT(text({}), ElementsAre());
}

}  // namespace
}  // namespace qtool
