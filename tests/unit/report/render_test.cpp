// The results of eval, infer, bench and inspect as text and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "report/evaluation.h"
#include "report/faster.h"
#include "report/inference.h"
#include "report/model_summary.h"
#include "report/preprocessing.h"
#include "report/profile.h"
#include "report/text_table.h"

namespace qtool {
namespace {

using nlohmann::json;
using testing::HasSubstr;

EvalResult two_model_result() {
  EvalResult result;
  result.images = 200;
  result.labelled = 200;
  result.classes = 10;
  result.workers = 2;
  result.fp32 = {.top1 = 150, .top5 = 190, .run_seconds = 4.0};
  result.int8 = ModelScore{.top1 = 149, .top5 = 190, .run_seconds = 1.0};
  result.agreement = 198;
  result.outputs = {{.name = "logits",
                     .cosine = 0.999,
                     .sqnr_db = 30.5,
                     .pooled_sqnr_db = 28.25,
                     .lowest_sqnr_db = 21.0,
                     .lowest_sqnr_image = "a/dark.jpg",
                     .max_abs_error = 0.25}};
  return result;
}

TEST(TextOfPreprocessing, SaysEveryFieldAndMarksWhatChanged) {
  const SourcedPreprocess sourced{preprocess_preset("imagenet"),
                                  "stored in model 'a.onnx'",
                                  {{PreprocessField::kChannels, "--channels"}}};
  EXPECT_EQ(
      text_of(sourced),
      "preprocessing stored in model 'a.onnx': resize shorter 256, crop 224x224, channels rgb "
      "(by --channels), layout nchw, mean 123.675,116.28,103.53, std 58.395,57.12,57.375");
  const json parsed = json::parse(json_of(two_model_result(), sourced))["preprocess"];
  EXPECT_EQ(parsed["source"], "stored in model 'a.onnx'");
  EXPECT_EQ(parsed["changed"], json({{"channels", "--channels"}}));
  EXPECT_EQ(parsed["used"]["resize"]["size"], 256);
}

TEST(TextTable, AlignsColumnsByCharactersNotBytes) {
  TextTable table({{"a"}, {"n", TextTable::Kind::kNumber}});
  table.add({"é", "1"});
  table.add({"long", "200"});
  EXPECT_EQ(table.to_string(), "a       n\né       1\nlong  200\n");
  EXPECT_THROW(table.add({"one cell"}), Error);
}

TEST(TextTable, ShortListHasTheRowsOfTheLowestRanksInTheirOrder) {
  TextTable table({{"row"}});
  for (int i = 0; i < 12; ++i) table.add({to_text("r", i)}, i == 3 || i == 7 ? 1.0 : 0.0);
  EXPECT_EQ(table.to_string(kAnyWidth, ListLength::kShort),
            "row\nr0\nr1\nr2\nr4\nr5\nr6\nr8\nr9\nr10\nr11\n"
            "and 2 more; all of them without --quiet\n");
  EXPECT_THAT(table.to_string(), HasSubstr("r7\n"));
}

TEST(TextTable, ShortensNamesThenLeavesOutColumnsOfLittleWorth) {
  using Kind = TextTable::Kind;
  TextTable table(
      {{"tensor"}, {"scale", Kind::kNumber, 2}, {"range", Kind::kText, 1}, {"", Kind::kText}});
  table.add({"/features/features.0/conv", "0.25", "[0, 1]", ""});
  table.add({"é", "10", "[-1, 1]", ""});
  EXPECT_EQ(table.to_string(41),
            "tensor                     scale  range\n"
            "/features/features.0/conv   0.25  [0, 1]\n"
            "é                             10  [-1, 1]\n");
  EXPECT_EQ(table.to_string(30),
            "tensor          scale  range\n"
            "/feat...0/conv   0.25  [0, 1]\n"
            "é                  10  [-1, 1]\n");
  EXPECT_EQ(table.to_string(20),
            "tensor         scale\n"
            "/feat.../conv   0.25\n"
            "é                 10\n");
  EXPECT_EQ(table.to_string(6), "tensor\n/...nv\né\n");
  EXPECT_EQ(table.to_string(2), "te\n/f\né\n");
}

TEST(TextTable, NoLineIsLongerThanItMayBe) {
  TextTable table({{"", TextTable::Kind::kNumber}, {"name"}, {"share", TextTable::Kind::kText, 1}});
  table.add({"123456", "ein längerer Name über alles", "100.00 %"});
  for (std::size_t width = 1; width < 60; ++width) {
    for (const std::string& line : split(table.to_string(width), '\n')) {
      EXPECT_LE(columns_of(line), width) << line;
    }
  }
}

TEST(TextOfEval, ComparesTheModelsInOneTable) {
  const std::string text = text_of(two_model_result());
  EXPECT_THAT(text, HasSubstr("top-1              75.00 %  74.50 %   -0.50"));
  EXPECT_THAT(text, HasSubstr("images/s in qtool    100.0    400.0   4.00x"));
  EXPECT_THAT(
      text,
      HasSubstr("agreement: 99.00 %, 96.4 to 99.7 % (same top-1 class for 198 of 200 images)"));
  EXPECT_THAT(
      text,
      HasSubstr("SQNR 30.50 dB (mean of the images; pooled 28.25; lowest 21.00 in 'a/dark.jpg')"));
}

TEST(TextOfEval, LeavesOutAccuracyWithoutLabels) {
  EvalResult result = two_model_result();
  result.labelled = 0;
  const std::string text = text_of(result);
  EXPECT_THAT(text, testing::Not(HasSubstr("top-1  ")));
  EXPECT_THAT(text, HasSubstr("200 images have no known class"));
}

TEST(JsonOfEval, HasSharesAndNullForWhatIsUnknown) {
  EvalResult result = two_model_result();
  result.bad = {{"a.jpg", "image 'a.jpg': bad"}};
  json parsed = json::parse(json_of(result, SourcedPreprocess()));
  EXPECT_EQ(parsed["fp32"]["top1"], 0.75);
  EXPECT_EQ(parsed["int8"]["images_per_second"], 400.0);
  EXPECT_EQ(parsed["agreement"], 0.99);
  EXPECT_EQ(parsed["outputs"][0]["pooled_sqnr_db"], 28.25);
  EXPECT_EQ(parsed["outputs"][0]["lowest_sqnr_image"], "a/dark.jpg");
  EXPECT_EQ(parsed["fp32"]["unanswered"]["images"], 0);
  EXPECT_EQ(parsed["left_out"][0]["path"], "a.jpg");
  result.labelled = 0;
  parsed = json::parse(json_of(result, SourcedPreprocess()));
  EXPECT_TRUE(parsed["fp32"]["top1"].is_null());
}

TEST(JsonOfEval, SurvivesNamesThatAreNotUtf8AndInfinity) {
  EvalResult result = two_model_result();
  result.outputs[0].name = "\xff";
  result.outputs[0].max_abs_error = std::numeric_limits<double>::infinity();
  const json parsed = json::parse(json_of(result, SourcedPreprocess()));
  EXPECT_TRUE(parsed["outputs"][0]["max_abs_error"].is_null());
}

TEST(TextOfInfer, NamesTheClassesItKnows) {
  InferResult result;
  result.classes = 3;
  result.repeat = 7;
  result.fp32 = {.top = {{0, 2.0F, 0.7}, {2, 1.0F, 0.2}}, .seconds = 0.010};
  result.int8 = InferRun{.top = {{2, 2.0F, 0.6}, {0, 1.0F, 0.3}}, .seconds = 0.004};
  const std::vector<std::string> names{"cat"};
  const std::string text = text_of(result, names);
  EXPECT_THAT(text, HasSubstr("1  cat      0.7000  class 2  0.6000"));
  EXPECT_THAT(text, HasSubstr("latency (median of 7, 1 thread): FP32 10.000 ms, INT8 4.000 ms"));
  const json parsed = json::parse(json_of(result, names, SourcedPreprocess()));
  EXPECT_EQ(parsed["fp32"]["top"][0]["name"], "cat");
  EXPECT_FALSE(parsed["fp32"]["top"][1].contains("name"));
}

TEST(TextOfProfile, PutsStepsOfTheSameNodeSideBySide) {
  ProfileResult result;
  result.repeat = 5;
  const auto step = [](const char* node, const char* kernel, double seconds) {
    StepTime time;
    time.step.node = node;
    time.step.op_type = "Conv";
    time.step.kernel = kernel;
    time.seconds = seconds;
    return time;
  };
  result.fp32 = {.median_seconds = 0.003, .fastest_seconds = 0.002, .arena_bytes = 10};
  result.fp32.steps = {step("conv1", "fp32", 0.002), step("relu1", "fp32", 0.001)};
  result.int8 = {.median_seconds = 0.001, .fastest_seconds = 0.001, .arena_bytes = 10};
  result.int8->steps = {step("quantize", "portable", 0.0001), step("conv1", "avx2", 0.0005)};
  const std::string text = text_of(result);
  EXPECT_THAT(text,
              testing::ContainsRegex("conv1 +Conv +fp32 +2.000 +[^ ]+ +avx2 +0.500 +[^ ]+ +4.00x"));
  EXPECT_THAT(text, testing::ContainsRegex("quantize +Conv +portable +0.100 +[^ ]+\n"));
  EXPECT_THAT(text, testing::ContainsRegex("relu1 +Conv +fp32 +1.000 +[^ ]+\n"));
  EXPECT_THAT(text, HasSubstr("speed-up in qtool: 3.00x"));
  EXPECT_EQ(json::parse(json_of(result))["int8"]["steps"][1]["kernel"], "avx2");
}

TEST(TextOfProfile, SaysWhatStepsReachOfThePeakAndWhatCrossingsCost) {
  ProfileResult result;
  result.repeat = 5;
  result.peak = {50e9, 200e9, 40e9};
  const auto step = [](const char* node, const char* type, double seconds) {
    StepTime time;
    time.step.node = node;
    time.step.op_type = type;
    time.seconds = seconds;
    time.low_seconds = 0.9 * seconds;
    time.high_seconds = 1.1 * seconds;
    return time;
  };
  result.fp32.median_seconds = result.fp32.fastest_seconds = 0.002;
  StepTime conv = step("conv", "Conv", 0.002);
  conv.step.macs = 50'000'000;
  result.fp32.steps = {conv};
  PlanProfile int8;
  int8.median_seconds = int8.fastest_seconds = 0.001;
  conv.seconds = 0.0005;
  conv.step.integer = true;
  StepTime quantize = step("q", "QuantizeLinear", 0.0001);
  quantize.step.integer = true;
  quantize.bytes = 1'000'000;
  const StepTime back = step("dq", "DequantizeLinear", 0.0004);
  int8.steps = {quantize, conv, back};
  int8.crossings = {{0, "input", {"conv"}}, {2, "conv", {"a", "b", "c", "d"}}};
  result.int8 = int8;
  const std::string text = text_of(result);
  EXPECT_THAT(text, testing::ContainsRegex("conv +Conv +2.000 +1.800-2.200 +25.0 GMAC/s, 50 %"));
  EXPECT_THAT(text, testing::ContainsRegex("0.500 +1.800-2.200 +100.0 GMAC/s, 50 %"));
  EXPECT_THAT(text, testing::ContainsRegex("0.100 +0.090-0.110 +10.0 GB/s, 25 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("0.400 +0.360-0.440\n"));  // no bytes, no MACs
  EXPECT_THAT(text,
              HasSubstr("INT8: 2 steps convert between FP32 and integers, 0.500 ms in all, "
                        "50.0 % of its steps\n"
                        "  0.400 ms (0.360 to 0.440) to FP32, from 'conv' for 'a', 'b', 'c' "
                        "and 1 more\n"
                        "  0.100 ms (0.090 to 0.110) to integers, from 'input' for 'conv'\n"));
  EXPECT_THAT(text, HasSubstr("peak of this machine on 1 thread, measured: FP32 50.0 GMAC/s, INT8 "
                              "200.0 GMAC/s, copying 40.0 GB/s\n"));
  const json parsed = json::parse(json_of(result));
  EXPECT_DOUBLE_EQ(parsed["int8"]["crossing_seconds"].get<double>(), 0.0005);
  EXPECT_DOUBLE_EQ(parsed["int8"]["steps"][1]["peak_share"].get<double>(), 0.5);
  EXPECT_EQ(parsed["int8"]["steps"][0]["bytes"], 1'000'000);
  EXPECT_DOUBLE_EQ(parsed["int8"]["steps"][0]["peak_share"].get<double>(), 0.25);
  EXPECT_TRUE(parsed["int8"]["steps"][2]["peak_share"].is_null());
  EXPECT_EQ(parsed["int8"]["crossings"][0]["to"][0], "conv");
}

TEST(TextOfRuntimeTimes, HasMediansIntervalsAndSpeedUpOfBothRuntimes) {
  ProfileResult result;
  result.threads = 2;
  result.repeat = 15;
  result.fp32 = {.median_seconds = 0.004, .low_seconds = 0.003, .high_seconds = 0.005};
  result.int8 = {.median_seconds = 0.001, .low_seconds = 0.0005, .high_seconds = 0.002};
  const std::vector<RuntimeTimes> times{
      times_in_qtool(result),
      times_of_runs("ONNX Runtime 9.9 (node)", 2, {{0.002, 0.001, 0.003}, {0.004, 0.005, 0.004}})};
  const std::string text = text_of(times);
  EXPECT_THAT(text, HasSubstr("\nin qtool, median of 15 runs, 2 threads\n"
                              "FP32: 4.000 ms (95 %: 3.000 to 5.000)\n"
                              "INT8: 1.000 ms (95 %: 0.500 to 2.000)\n"
                              "speed-up in qtool: 4.00x\n"));
  EXPECT_THAT(text, HasSubstr("\nin ONNX Runtime 9.9 (node), median of 3 runs, 2 threads\n"
                              "FP32: 2.000 ms (95 %: 1.000 to 3.000)\n"
                              "INT8: 4.000 ms (95 %: 4.000 to 5.000)\n"
                              "speed-up in ONNX Runtime 9.9 (node): 0.50x\n"));
  EXPECT_EQ(medians_text(times.back()), "in ONNX Runtime 9.9 (node): FP32 2.000 ms, INT8 4.000 ms");
  EXPECT_EQ(text_of(std::vector<RuntimeTimes>{}), "");

  const json parsed = json::parse(json_of(two_model_result(), SourcedPreprocess(), times));
  EXPECT_EQ(parsed["times"][0]["runtime"], "qtool");
  EXPECT_EQ(parsed["times"][0]["int8"]["low_seconds"], 0.0005);
  EXPECT_EQ(parsed["times"][1]["repeat"], 3);
  EXPECT_EQ(parsed["times"][1]["fp32"]["median_seconds"], 0.002);
  EXPECT_FALSE(json::parse(json_of(two_model_result(), SourcedPreprocess())).contains("times"));
  EXPECT_EQ(json::parse(json_of(result, &times.back()))["also"], parsed["times"][1]);
}

TEST(TextOfRuntimeTimes, SaysTheBatchOfARun) {
  ProfileResult result;
  result.repeat = 15;
  result.batch = 8;
  const RuntimeTimes times = times_in_qtool(result);
  EXPECT_THAT(text_of(times), HasSubstr("in qtool, median of 15 runs, batch 8, 1 thread\n"));
  EXPECT_EQ(json::parse(json_of(times))["batch"], 8);
}

TEST(TextOfRuntimeTimes, HasNoSpeedUpOfAModelAlone) {
  const RuntimeTimes times = times_of_runs("ONNX Runtime 9.9 (node)", 1, {{0.002, 0.001, 0.003}});
  EXPECT_THAT(text_of(times), testing::Not(HasSubstr("speed-up")));
  EXPECT_EQ(medians_text(times), "in ONNX Runtime 9.9 (node): FP32 2.000 ms");
  EXPECT_FALSE(json::parse(json_of(times)).contains("int8"));
}

TEST(TextOfFaster, SaysWhatStaysInFp32AndWhatThatBrings) {
  FasterResult result;
  result.threads = 2;
  result.repeat = 31;
  result.tried = 4;
  result.int8_seconds = 0.002;
  result.fp32_seconds = 0.003;
  result.mixed_seconds = 0.0015;
  result.gained = {-0.0005, -0.0006, -0.0004};
  result.over_fp32 = {-0.0015, -0.0016, -0.0014};
  result.exclude = {"conv1", "add\n"};
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("2 of the nodes stay in FP32, which is faster: 'conv1' 'add"));
  EXPECT_THAT(text, HasSubstr("mix minus integers -0.500 ms (-0.600 to -0.400), -25.0 %"));
  EXPECT_THAT(text, HasSubstr("medians of 31 runs in turn on 2 threads"));
  EXPECT_EQ(json::parse(json_of(result))["exclude"].size(), 2U);
  result.exclude.clear();
  EXPECT_THAT(text_of(result), HasSubstr("nothing is measurably faster in FP32 (4 sets of layers"));
  result.fp32_alone = true;
  EXPECT_THAT(text_of(result), HasSubstr("nothing is on integers"));
}

TEST(Summary, CountsOperatorsAndParameters) {
  Graph graph;
  graph.info.opsets[""] = 13;
  const ValueId input = graph.add_value("x");
  graph.declare(input, DType::kFloat32, {{{{}, "N"}, {3, ""}}});
  graph.add_input(input);
  ValueId last = input;
  for (const char* op : {"Relu", "Relu", "Mystery"}) {
    Node node;
    node.op_type = op;
    node.inputs = {last};
    if (node.op_type == "Mystery") {
      node.inputs.push_back(graph.add_constant("w", Tensor(DType::kFloat32, {5})));
    }
    last = graph.add_value(graph.unique_name("y"));
    node.outputs = {last};
    graph.add_node(std::move(node));
  }
  graph.add_output(last);
  const ModelSummary summary = summarize(graph);
  EXPECT_FALSE(summary.supported());
  EXPECT_EQ(summary.parameters, 5);
  EXPECT_EQ(summary.operators[0].op_type, "Relu");
  EXPECT_EQ(summary.operators[0].nodes, 2);
  EXPECT_EQ(summary.inputs[0].shape, "[N, 3]");
  EXPECT_EQ(summary.outputs[0].shape, "?");
  const std::string text = text_of(summary, std::nullopt);
  EXPECT_THAT(text, testing::ContainsRegex("Mystery +1  not supported"));
  EXPECT_EQ(json::parse(json_of(summary, std::nullopt))["operators"][1]["supported"], false);
}

}  // namespace
}  // namespace qtool
