#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/diff/table_text.h"

namespace qtool {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ActivationEntry activation(std::string tensor, Range range, float scale,
                           DType dtype = DType::kUInt8) {
  ActivationEntry entry;
  entry.tensor = std::move(tensor);
  entry.range = range;
  entry.affine.scale = scale;
  entry.dtype = dtype;
  return entry;
}

WeightEntry weight(std::string tensor, std::string consumer, std::vector<float> scales) {
  WeightEntry entry;
  entry.tensor = std::move(tensor);
  entry.consumer = std::move(consumer);
  entry.affines.axis = scales.size() > 1 ? 0 : -1;
  entry.affines.scales = std::move(scales);
  return entry;
}

CalibrationTable table_of(std::vector<ActivationEntry> activations,
                          std::vector<WeightEntry> weights = {}) {
  CalibrationTable table;
  table.method = "kl";
  table.activations = std::move(activations);
  table.weights = std::move(weights);
  return table;
}

std::vector<std::string> names(const std::vector<TensorDiff>& diffs) {
  std::vector<std::string> result;
  for (const TensorDiff& diff : diffs) result.push_back(diff.tensor);
  return result;
}

TEST(TableDiff, IsNothingBetweenEqualTables) {
  const CalibrationTable table =
      table_of({activation("x", {0.0F, 2.0F}, 0.5F)}, {weight("w", "conv", {1.0F, 2.0F})});
  const TableDiff diff = diff_of(table, table);
  EXPECT_THAT(names(diff.activations), ElementsAre("x"));
  EXPECT_THAT(names(diff.weights), ElementsAre("w"));
  EXPECT_TRUE(diff.within(0.0));
  EXPECT_TRUE(diff_of(CalibrationTable{}, CalibrationTable{}).within(0.0));
}

TEST(TableDiff, IsRelativeToTheLargerOfTwo) {
  const CalibrationTable a = table_of({activation("x", {0.0F, 1.0F}, 1.5F)});
  const CalibrationTable b = table_of({activation("x", {-0.5F, 2.0F}, 2.0F)});
  const TableDiff diff = diff_of(a, b);
  ASSERT_EQ(diff.activations.size(), 1U);
  EXPECT_EQ(diff.activations[0].scale_a, 1.5F);
  EXPECT_EQ(diff.activations[0].scale_b, 2.0F);
  EXPECT_DOUBLE_EQ(diff.activations[0].scale, 0.25);  // differs by 0.5 of 2
  EXPECT_DOUBLE_EQ(diff.activations[0].range, 0.4);   // the upper end moves by 1 of a width of 2.5
  EXPECT_DOUBLE_EQ(diff.activations[0].largest(), 0.4);
  const TableDiff reversed = diff_of(b, a);
  ASSERT_EQ(reversed.activations.size(), 1U);
  EXPECT_EQ(reversed.activations[0].scale_a, 2.0F);
  EXPECT_DOUBLE_EQ(reversed.activations[0].scale, 0.25);
  EXPECT_DOUBLE_EQ(reversed.activations[0].range, 0.4);
}

TEST(TableDiff, TakesTheEndOfTheRangeThatMovedMore) {
  const TableDiff diff = diff_of(table_of({activation("x", {-1.0F, 3.0F}, 1.0F)}),
                                 table_of({activation("x", {-3.0F, 2.0F}, 1.0F)}));
  ASSERT_EQ(diff.activations.size(), 1U);
  EXPECT_DOUBLE_EQ(diff.activations[0].range, 0.4);  // the lower end moves by 2 of a width of 5
  EXPECT_EQ(diff.activations[0].scale, 0.0);
  EXPECT_DOUBLE_EQ(diff.activations[0].largest(), 0.4);
}

TEST(TableDiff, ComparesEmptyRangesWithoutDividingByZero) {
  const CalibrationTable zero = table_of({activation("x", {0.0F, 0.0F}, 1.0F)});
  EXPECT_TRUE(diff_of(zero, zero).within(0.0));
  const TableDiff diff = diff_of(zero, table_of({activation("x", {0.0F, 4.0F}, 1.0F)}));
  ASSERT_EQ(diff.activations.size(), 1U);
  EXPECT_EQ(diff.activations[0].range, 1.0);
}

TEST(TableDiff, ComparesEntriesOfUnlikeTypesByTheirRangeAlone) {
  const TableDiff diff = diff_of(table_of({activation("x", {0.0F, 2.0F}, 1.0F, DType::kUInt8)}),
                                 table_of({activation("x", {0.0F, 2.0F}, 2.0F, DType::kInt8)}));
  ASSERT_EQ(diff.activations.size(), 1U);
  EXPECT_EQ(diff.activations[0].scale, 0.0);
  EXPECT_EQ(diff.activations[0].scale_b, 2.0F);
  EXPECT_TRUE(diff.within(0.0));
}

TEST(TableDiff, KeepsTheOrderOfTheFirstTable) {
  const auto entry = [](const char* name) { return activation(name, {0.0F, 1.0F}, 1.0F); };
  const TableDiff diff = diff_of(table_of({entry("c"), entry("only here"), entry("a")}),
                                 table_of({entry("a"), entry("only there"), entry("c")}));
  EXPECT_THAT(names(diff.activations), ElementsAre("c", "a"));
  EXPECT_THAT(diff.only_a, ElementsAre("only here"));
  EXPECT_THAT(diff.only_b, ElementsAre("only there"));
}

TEST(TableDiff, NamesTheChannelThatDiffersMost) {
  const TableDiff diff = diff_of(table_of({}, {weight("w", "conv", {1.0F, 2.0F, 8.0F})}),
                                 table_of({}, {weight("w", "conv", {1.0F, 4.0F, 10.0F})}));
  ASSERT_EQ(diff.weights.size(), 1U);
  EXPECT_DOUBLE_EQ(diff.weights[0].scale, 0.5);
  EXPECT_EQ(diff.weights[0].scale_a, 2.0F);
  EXPECT_EQ(diff.weights[0].scale_b, 4.0F);
  EXPECT_EQ(diff.weights[0].range, 0.0);
}

TEST(TableDiff, CallsAnotherNumberOfScalesADifferenceOfOne) {
  const TableDiff diff = diff_of(table_of({}, {weight("w", "conv", {1.0F})}),
                                 table_of({}, {weight("w", "conv", {1.0F, 1.0F})}));
  ASSERT_EQ(diff.weights.size(), 1U);
  EXPECT_EQ(diff.weights[0].scale, 1.0);
  EXPECT_FALSE(diff.within(0.99));
  EXPECT_TRUE(diff.within(1.0));
}

TEST(TableDiff, TellsTheReadersOfSharedWeightsApart) {
  const TableDiff diff =
      diff_of(table_of({}, {weight("w", "c1", {1.0F}), weight("w", "c2", {3.0F})}),
              table_of({}, {weight("w", "c2", {4.0F}), weight("w", "c1", {1.0F})}));
  ASSERT_THAT(names(diff.weights), ElementsAre("w", "w"));
  EXPECT_EQ(diff.weights[0].scale, 0.0);
  EXPECT_DOUBLE_EQ(diff.weights[1].scale, 0.25);
  EXPECT_THAT(diff.only_a, IsEmpty());
  EXPECT_THAT(diff.only_b, IsEmpty());
}

// AIMET's files do not name the node that reads a weight.
TEST(TableDiff, MatchesWeightsByTheirTensorWhereNoReaderIsNamed) {
  const CalibrationTable named = table_of(
      {}, {weight("w", "c1", {4.0F}), weight("w", "c2", {5.0F}), weight("v", "c3", {1.0F})});
  const CalibrationTable unnamed = table_of({}, {weight("w", "", {3.0F}), weight("u", "", {1.0F})});
  const TableDiff diff = diff_of(named, unnamed);
  ASSERT_THAT(names(diff.weights), ElementsAre("w", "w"));
  EXPECT_DOUBLE_EQ(diff.weights[0].scale, 0.25);
  EXPECT_DOUBLE_EQ(diff.weights[1].scale, 0.4);
  EXPECT_THAT(diff.only_a, ElementsAre("v"));
  EXPECT_THAT(diff.only_b, ElementsAre("u"));
  const TableDiff reversed = diff_of(unnamed, named);
  ASSERT_THAT(names(reversed.weights), ElementsAre("w"));
  EXPECT_DOUBLE_EQ(reversed.weights[0].scale, 0.25);
  EXPECT_THAT(reversed.only_a, ElementsAre("u"));
  EXPECT_THAT(reversed.only_b, ElementsAre("v"));
}

TEST(TableDiff, DoesNotMatchTheWeightsOfOtherReaders) {
  const TableDiff diff =
      diff_of(table_of({}, {weight("w", "c1", {1.0F})}), table_of({}, {weight("w", "c2", {1.0F})}));
  EXPECT_THAT(diff.weights, IsEmpty());
  EXPECT_THAT(diff.only_a, ElementsAre("w"));
  EXPECT_THAT(diff.only_b, ElementsAre("w"));
}

TEST(TableDiff, SaysNothingOfWeightsWhenOneTableHasNone) {
  const CalibrationTable with = table_of({}, {weight("w", "conv", {1.0F})});
  EXPECT_TRUE(diff_of(with, {}).within(0.0));
  EXPECT_TRUE(diff_of({}, with).within(0.0));
  const CalibrationTable other = table_of({}, {weight("v", "conv", {1.0F})});
  EXPECT_THAT(diff_of(with, other).only_a, ElementsAre("w"));
  EXPECT_THAT(diff_of(with, other).only_b, ElementsAre("v"));
}

TEST(TableDiffWithin, IncludesTheToleranceItself) {
  TableDiff diff;
  diff.activations.push_back({.tensor = "x", .scale = 0.25, .range = 0.125});
  diff.weights.push_back({.tensor = "w", .scale = 0.5});
  EXPECT_TRUE(diff.within(0.5));
  EXPECT_FALSE(diff.within(0.49));
  diff.weights.clear();
  EXPECT_TRUE(diff.within(0.25));
  EXPECT_FALSE(diff.within(0.2));
}

TEST(TableDiffWithin, FailsForATensorOfOneTableWhateverTheTolerance) {
  TableDiff diff;
  diff.only_a = {"x"};
  EXPECT_FALSE(diff.within(100.0));
  diff.only_a.clear();
  diff.only_b = {"x"};
  EXPECT_FALSE(diff.within(100.0));
}

TableDiff two_differences() {
  TableDiff diff;
  diff.activations.push_back({"near", 1.0F, 1.0F, 0.0, 0.01});
  diff.activations.push_back({"far", 1.5F, 2.0F, 0.25, 0.125});
  diff.weights.push_back({"w", 2.0F, 4.0F, 0.5, 0.0});
  diff.only_a = {"a1"};
  diff.only_b = {"b1", "b2"};
  return diff;
}

TEST(TextOfTableDiff, ShowsWhatDiffersByMoreThanTheTolerance) {
  EXPECT_EQ(text_of(two_differences(), 0.01),
            "tensor  scale A  scale B  scale differs  range differs\n"
            "far         1.5        2      25.0000 %      12.5000 %\n"
            "w             2        4      50.0000 %       0.0000 %\n"
            "\n"
            "only in A: a1\n"
            "only in B: b1\n"
            "only in B: b2\n"
            "2 activations and 1 weights in both: 2 differ by more than 1.0000 %; "
            "largest difference 50.0000 %\n");
}

TEST(TextOfTableDiff, LeavesTheTableOutWhenNothingDiffers) {
  EXPECT_EQ(text_of(TableDiff(), 0.0),
            "0 activations and 0 weights in both: 0 differ by more than 0.0000 %; "
            "largest difference 0.0000 %\n");
}

TEST(JsonOfTableDiff, HasEveryTensorAndTheVerdict) {
  const json parsed = json::parse(json_of(two_differences(), 0.01));
  EXPECT_EQ(parsed["tolerance"], 0.01);
  EXPECT_EQ(parsed["within_tolerance"], false);
  ASSERT_EQ(parsed["activations"].size(), 2U);
  EXPECT_EQ(parsed["activations"][0]["range_difference"], 0.01);
  EXPECT_EQ(parsed["activations"][1], json({{"tensor", "far"},
                                            {"scale_a", 1.5},
                                            {"scale_b", 2.0},
                                            {"scale_difference", 0.25},
                                            {"range_difference", 0.125}}));
  EXPECT_EQ(parsed["weights"][0]["scale_difference"], 0.5);
  EXPECT_EQ(parsed["only_a"], json({"a1"}));
  EXPECT_EQ(parsed["only_b"], json({"b1", "b2"}));
  const json none = json::parse(json_of(TableDiff(), 0.0));
  EXPECT_EQ(none["within_tolerance"], true);
  EXPECT_EQ(none["activations"], json::array());
}

/// A table with an observed tensor, a degenerate tensor without any values, and weights.
CalibrationTable shown_table() {
  ActivationEntry seen = activation("seen", {-0.5F, 2.0F}, 0.25F);
  seen.affine.zero_point = 2;
  seen.saturated_share = 0.125;
  seen.sqnr_db = 31.25;
  seen.observed.count = 8;
  ActivationEntry unseen = activation("unseen", {}, 1.0F, DType::kInt8);
  unseen.degenerate = Degenerate::kEmpty;
  CalibrationTable table = table_of({seen, unseen}, {weight("w", "conv", {0.5F, 0.125F, 2.0F})});
  table.image_count = 16;
  return table;
}

TEST(TableText, ShowsEveryTensorAndEachWeightsExtremes) {
  EXPECT_EQ(table_text(shown_table()),
            "tensor  range      scale  zero point  type   saturated  SQNR dB\n"
            "seen    [-0.5, 2]   0.25           2  uint8  12.5000 %     31.2\n"
            "unseen  [0, 0]         1           0  int8           -        -  no values\n"
            "\n"
            "weight  read by  scales  smallest  largest\n"
            "w       conv          3     0.125        2\n"
            "\n"
            "2 activations and 1 weights by 'kl' from 16 images\n");
}

TEST(TableText, LeavesOutWeightsAndImagesThatThereAreNone) {
  const std::string text = table_text(table_of({activation("x", {0.0F, 1.0F}, 1.0F)}));
  EXPECT_THAT(text, Not(HasSubstr("read by")));
  EXPECT_THAT(text, ContainsRegex("\n\n1 activations and 0 weights by 'kl'\n$"));
}

TEST(TableText, SaysWhatIsDegenerate) {
  CalibrationTable table = table_of({activation("z", {}, 1.0F), activation("s", {}, 1.0F)});
  table.activations[0].degenerate = Degenerate::kAllZero;
  table.activations[1].degenerate = Degenerate::kTooSmall;
  const std::string text = table_text(table);
  EXPECT_THAT(text, ContainsRegex("z .* all zero\n"));
  EXPECT_THAT(text, ContainsRegex("s .* too small\n"));
}

TEST(TableJson, HasEveryTensorAndWhatIsKnownOfIt) {
  const json parsed = json::parse(table_json(shown_table()));
  EXPECT_EQ(parsed["method"], "kl");
  EXPECT_EQ(parsed["images"], 16);
  EXPECT_EQ(parsed["activations"], json::array({{{"tensor", "seen"},
                                                 {"range", {-0.5, 2.0}},
                                                 {"scale", 0.25},
                                                 {"zero_point", 2},
                                                 {"dtype", "uint8"},
                                                 {"saturated_share", 0.125},
                                                 {"sqnr_db", 31.25}},
                                                {{"tensor", "unseen"},
                                                 {"range", {0.0, 0.0}},
                                                 {"scale", 1.0},
                                                 {"zero_point", 0},
                                                 {"dtype", "int8"},
                                                 {"degenerate", "no values"}}}));
  EXPECT_EQ(
      parsed["weights"],
      json::array(
          {{{"tensor", "w"}, {"consumer", "conv"}, {"axis", 0}, {"scales", {0.5, 0.125, 2.0}}}}));
}

TEST(TableJson, SurvivesNamesThatAreNotUtf8) {
  const json parsed = json::parse(table_json(table_of({activation("\xff", {}, 1.0F)})));
  EXPECT_EQ(parsed["activations"][0]["tensor"], "\xEF\xBF\xBD");  // the replacement character
}

}  // namespace
}  // namespace qtool
