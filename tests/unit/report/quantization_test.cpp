#include "report/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace qtool {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

ActivationEntry degenerate_activation(std::string tensor, Degenerate degenerate = Degenerate::kNo) {
  ActivationEntry entry;
  entry.tensor = std::move(tensor);
  entry.degenerate = degenerate;
  return entry;
}

CalibrationTable three_activations() {
  CalibrationTable table;
  table.method = "kl";
  table.image_count = 10;
  table.preprocess = Preprocess();
  ActivationEntry good = degenerate_activation("good");
  good.observed.min = -0.75F;
  good.observed.max = 12.5F;
  good.range = {-0.5F, 8.0F};
  good.affine = {0.03125F, 16};
  good.sqnr_db = 40.0;
  ActivationEntry worst = degenerate_activation("worst");
  worst.sqnr_db = 12.5;
  table.activations = {good, worst, degenerate_activation("dead", Degenerate::kAllZero)};
  table.weights.push_back({.tensor = "w", .consumer = "conv", .affines = {{1.0F}}});
  return table;
}

TEST(TextOfCalibration, ShowsEveryTensorWithItsRangeAndItsNoise) {
  EXPECT_EQ(text_of(three_activations(), "out.json", {}, ListLength::kFull),
            "tensor      min      max  range                scale  zero point  SQNR dB\n"
            "good    -0.7500  12.5000  [-0.5000, 8.0000]  0.03125          16     40.0\n"
            "worst    0.0000   0.0000  [0.0000, 0.0000]         1           0     12.5\n"
            "dead     0.0000   0.0000  [0.0000, 0.0000]         1           0        -  all zero\n"
            "\n"
            "3 activations and 1 weights by 'kl' from 10 images -> out.json\n");
}

TEST(TextOfCalibration, SaysWhatIsDegenerate) {
  CalibrationTable table;
  table.activations = {degenerate_activation("e", Degenerate::kEmpty),
                       degenerate_activation("s", Degenerate::kTooSmall)};
  const std::string text = text_of(table, "out.json", {}, ListLength::kShort);
  EXPECT_THAT(text, ContainsRegex("e .* no values\n"));
  EXPECT_THAT(text, ContainsRegex("s .* too small\n"));
}

TEST(TextOfCalibration, ShowsTheNoisiestAndTheDegenerateOfMany) {
  CalibrationTable table;
  for (int i = 0; i < 30; ++i) {
    table.activations.push_back(degenerate_activation(i < 10 ? to_text("t0", i) : to_text("t", i)));
    table.activations.back().sqnr_db = 60.0 - i;
  }
  table.activations[0].degenerate = Degenerate::kAllZero;
  table.activations[25].sqnr_db.reset();
  const std::string text = text_of(table, "a table.json", {}, ListLength::kShort);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 11 + 2 + 2);
  for (const char* shown : {"\nt00 ", "\nt19 ", "\nt24 ", "\nt26 ", "\nt29 "}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  for (const char* absent : {"\nt01 ", "\nt18 ", "\nt25 "}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(absent)));
  }
  EXPECT_LT(text.find("\nt19 "), text.find("\nt29 "));  // in the order of the network
  EXPECT_THAT(text, HasSubstr("\nand 19 tensors of a higher SQNR; all of them: --verbose, or\n"
                              "    qtool table show 'a table.json'\n\n30 activations"));
  const std::string full = text_of(table, "a table.json", {}, ListLength::kFull);
  EXPECT_EQ(std::count(full.begin(), full.end(), '\n'), 1 + 30 + 2);
}

TEST(JsonOfCalibration, CountsAndNamesTheNoisiestTensor) {
  SourcedPreprocess assumed;
  assumed.source = "assumed";
  EXPECT_EQ(json::parse(json_of(three_activations(), "out.json", {}, assumed)),
            json({{"output", "out.json"},
                  {"method", "kl"},
                  {"images", 10},
                  {"preprocess",
                   {{"source", "assumed"},
                    {"changed", json::object()},
                    {"used",
                     {{"resize", {{"mode", "none"}}},
                      {"channels", "rgb"},
                      {"layout", "nchw"},
                      {"mean", {0.0}},
                      {"std", {1.0}}}}}},
                  {"activations", 3},
                  {"weights", 1},
                  {"degenerate", 1},
                  {"lowest_sqnr", {{"tensor", "worst"}, {"sqnr_db", 12.5}}},
                  {"left_out", json::array()},
                  {"passed_over", {{"count", 0}, {"first", json::array()}}}}));
}

TEST(JsonOfCalibration, LeavesTheNoiseOutWhereNoneIsKnown) {
  const json parsed = json::parse(json_of(CalibrationTable(), "out.json", {}, SourcedPreprocess()));
  EXPECT_FALSE(parsed.contains("lowest_sqnr"));
  EXPECT_EQ(parsed["activations"], 0);
}

QuantizationSummary one_layer_left() {
  QuantizationSummary summary;
  summary.output = "m.onnx";
  summary.fp32_bytes = 2000;
  summary.int8_bytes = 525;
  summary.coverage_line = "the coverage line";
  summary.report.nodes = {{"c1", "Conv", NodeRole::kInteger, ""},
                          {"head", "Conv", NodeRole::kFloat, "excluded by --exclude"},
                          {"shape", "Shape", NodeRole::kNotReal, ""},
                          {"soft", "Softmax", NodeRole::kFloat, "no integer form"}};
  return summary;
}

TEST(TextOfQuantization, NamesEveryNodeThatStayedInFp32) {
  EXPECT_EQ(text_of(one_layer_left(), ListLength::kFull),
            "m.onnx: 525 bytes, 26.2 % of FP32\n"
            "FP32: 'head' Conv (excluded by --exclude)\n"
            "FP32: 'soft' Softmax (no integer form)\n"
            "the coverage line\n");
}

TEST(TextOfQuantization, CountsNodesInFp32ByOperatorAndReason) {
  QuantizationSummary summary = one_layer_left();
  for (const char* name : {"a", "b", "c"}) {
    summary.report.nodes.push_back({name, "Softmax", NodeRole::kFloat, "no integer form"});
  }
  EXPECT_EQ(text_of(summary, ListLength::kShort),
            "m.onnx: 525 bytes, 26.2 % of FP32\n"
            "FP32: 4 Softmax (no integer form)\n"
            "FP32: 1 Conv (excluded by --exclude)\n"
            "--verbose names each node in FP32\n"
            "the coverage line\n");
  summary.report.nodes.clear();
  EXPECT_EQ(text_of(summary, ListLength::kShort),
            "m.onnx: 525 bytes, 26.2 % of FP32\nthe coverage line\n");
}

TEST(TextOfQuantization, DoesNotDivideByAnEmptyModel) {
  QuantizationSummary summary;
  summary.output = "m.onnx";
  summary.int8_bytes = 5;
  EXPECT_EQ(text_of(summary, ListLength::kShort), "m.onnx: 5 bytes, 0.0 % of FP32\n\n");
}

TEST(TextOfQuantization, NotesConcatenationsWhoseOperandsKeepTheirScales) {
  QuantizationSummary summary = one_layer_left();
  summary.report.unequal_concats = {{"cat", {"a", "b"}, {0.5F, 0.125F}, 0.25}};
  EXPECT_THAT(text_of(summary, ListLength::kShort),
              HasSubstr("note: the operands of 'cat' keep scales of their own: the narrowest uses "
                        "25.0 % of the common range\n"));
}

TEST(TextOfQuantization, SaysWhichConvolutionsOnnxRuntimeRunsInFp32) {
  QuantizationSummary summary = one_layer_left();
  EXPECT_THAT(text_of(summary, ListLength::kShort), testing::Not(HasSubstr("ONNX Runtime")));
  summary.report.residuals = 9;
  EXPECT_THAT(text_of(summary, ListLength::kShort),
              HasSubstr("note: convolutions that add a shortcut before they round: 9; ONNX Runtime "
                        "runs these in FP32\n"));
}

TEST(TextOfQuantization, SaysHowToMeasureASpeedThatIsInDoubt) {
  QuantizationSummary summary = one_layer_left();
  EXPECT_THAT(text_of(summary, ListLength::kShort), testing::Not(HasSubstr("bench")));
  summary.bench = {"qtool", "bench", "a model.onnx", "--int8", "m.onnx"};
  EXPECT_THAT(
      text_of(summary, ListLength::kShort),
      HasSubstr("\nthe speed depends on the runtime, and may be below FP32's; to measure it "
                "here:\n    qtool bench 'a model.onnx' --int8 m.onnx\n"));
}

TEST(TextOfQuantization, NamesFiveLayersWithoutCorrectionAndCountsTheRest) {
  QuantizationSummary summary = one_layer_left();
  summary.report.uncorrected_layers = {"a"};
  EXPECT_THAT(text_of(summary, ListLength::kShort),
              HasSubstr("\nbias not corrected: 'a'\nthe coverage line\n"));
  summary.report.uncorrected_layers = {"a", "b", "c", "d", "e"};
  EXPECT_THAT(text_of(summary, ListLength::kShort),
              HasSubstr("\nbias not corrected: 'a', 'b', 'c', 'd', 'e'\nthe"));
  summary.report.uncorrected_layers = {"a", "b", "c", "d", "e", "f", "g"};
  EXPECT_THAT(text_of(summary, ListLength::kShort),
              HasSubstr("\nbias not corrected: 'a', 'b', 'c', 'd', 'e' and 2 more\nthe"));
}

TEST(JsonOfQuantization, HasTheWholeReport) {
  QuantizationSummary summary;
  summary.output = "m.onnx";
  summary.fp32_bytes = 2000;
  summary.int8_bytes = 525;
  summary.coverage_line = "line";
  summary.coverage.macs = 100;
  summary.coverage.integer_macs = 90;
  summary.coverage.convolutions = 4;
  summary.coverage.integer_convolutions = 3;
  summary.report.target = "cpu";
  summary.report.weight_bytes = 400;
  summary.report.output_channels = 12;
  summary.report.added_nodes = 9;
  summary.report.quantized_tensors = 5;
  summary.report.corrected_biases = 2;
  summary.report.tuned_ranges = 4;
  summary.report.residuals = 3;
  summary.report.functions = 6;
  summary.report.inner_functions = 8;
  summary.report.saturating_pairs = 7;
  summary.report.wide = {"stem"};
  summary.report.uncorrected_layers = {"fc"};
  summary.report.unequal_concats = {{"cat", {"a", "b"}, {0.5F, 0.125F}, 0.25}};
  EXPECT_EQ(json::parse(json_of(summary)),
            json({{"output", "m.onnx"},
                  {"target", "cpu"},
                  {"fp32_bytes", 2000},
                  {"int8_bytes", 525},
                  {"weight_bytes", 400},
                  {"output_channels", 12},
                  {"added_nodes", 9},
                  {"qoperator_nodes", 0},
                  {"quantized_tensors", 5},
                  {"corrected_biases", 2},
                  {"tuned_ranges", 4},
                  {"residual_convolutions", 3},
                  {"functions_as_tables", 6},
                  {"functions_inside", 8},
                  {"saturating_pairs", 7},
                  {"wide_tensors", json::array({"stem"})},
                  {"uncorrected_layers", json::array({"fc"})},
                  {"coverage",
                   {{"line", "line"},
                    {"macs", 100},
                    {"integer_macs", 90},
                    {"convolutions", 4},
                    {"integer_convolutions", 3}}},
                  {"nodes", json::array()},
                  {"unequal_concats", json::array({{{"node", "cat"},
                                                    {"operands", {"a", "b"}},
                                                    {"scales", {0.5, 0.125}},
                                                    {"smallest_share", 0.25}}})},
                  {"left_out", json::array()},
                  {"passed_over", {{"count", 0}, {"first", json::array()}}}}));
}

TEST(JsonOfQuantization, SaysTheRoleOfEveryNodeAndAReasonWhereThereIsOne) {
  QuantizationSummary summary;
  summary.report.nodes = {{"a", "Conv", NodeRole::kInteger, ""},
                          {"b", "Flatten", NodeRole::kPassing, ""},
                          {"c", "Relu", NodeRole::kFused, ""},
                          {"d", "Softmax", NodeRole::kFloat, "why"},
                          {"e", "Shape", NodeRole::kNotReal, ""}};
  EXPECT_EQ(
      json::parse(json_of(summary))["nodes"],
      json::array({{{"node", "a"}, {"op_type", "Conv"}, {"role", "integer"}},
                   {{"node", "b"}, {"op_type", "Flatten"}, {"role", "passing"}},
                   {{"node", "c"}, {"op_type", "Relu"}, {"role", "fused"}},
                   {{"node", "d"}, {"op_type", "Softmax"}, {"role", "fp32"}, {"reason", "why"}},
                   {{"node", "e"}, {"op_type", "Shape"}, {"role", "not real"}}}));
}

TEST(JsonOfQuantization, SurvivesNamesThatAreNotUtf8) {
  QuantizationSummary summary;
  summary.output = "\xff.onnx";
  EXPECT_EQ(json::parse(json_of(summary))["output"], "\xEF\xBF\xBD.onnx");
}

}  // namespace
}  // namespace qtool
