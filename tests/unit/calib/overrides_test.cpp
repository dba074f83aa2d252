#include "qtool/calib/overrides.h"

#include <gmock/gmock.h>

#include <string>

#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/collect.h"

namespace qtool {
namespace {

constexpr Scheme kOverriddenScheme{DType::kUInt8, 8, Symmetry::kAsymmetric};

CalibrationTable table() {
  CalibrationTable table;
  for (const char* name : {"data", "conv1_out", "conv10_out", "head/score"}) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, 2.0F};
    entry.affine = choose_affine(entry.range, kOverriddenScheme);
    entry.observed.min = -1.0F;
    entry.observed.max = 2.0F;
    entry.saturated_share = 0.5;
    entry.sqnr_db = 30.0;
    table.activations.push_back(entry);
  }
  table.aliases.push_back({"bn1_out", "conv1_out"});
  return table;
}

CalibrationTable overridden(const Overrides& overrides, const Scheme& scheme = kOverriddenScheme) {
  CalibrationTable changed = table();
  apply_overrides(overrides, scheme, nullptr, changed);
  return changed;
}

std::string override_refusal(const Overrides& overrides, ErrorCode code,
                             const Scheme& scheme = kOverriddenScheme) {
  try {
    overridden(overrides, scheme);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

std::string text_refusal(std::string_view text) {
  try {
    read_overrides(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
    return error.what();
  }
  ADD_FAILURE() << text << " was accepted";
  return {};
}

TEST(Overrides, ReplaceTheRangesOfMatchingTensorsAndMarkThem) {
  const CalibrationTable changed = overridden({{{"conv1*", {0.0F, 6.0F}}}, {}, {}});
  for (const char* name : {"conv1_out", "conv10_out"}) {
    const ActivationEntry& entry = *changed.find(name);
    EXPECT_EQ(entry.range, (Range{0.0F, 6.0F}));
    EXPECT_EQ(entry.affine, (Affine{6.0F / 255, 0}));
    EXPECT_EQ(entry.origin, Origin::kUser);
    EXPECT_FALSE(entry.sqnr_db.has_value());
    EXPECT_EQ(entry.saturated_share, 0.0);
  }
  const CalibrationTable before = table();
  EXPECT_EQ(*changed.find("data"), *before.find("data"));
}

TEST(Overrides, ReplaceScalesAndFindTheirRanges) {
  const CalibrationTable changed = overridden({{}, {{"data", 0.5F, 128}}, {}});
  const ActivationEntry& entry = *changed.find("data");
  EXPECT_EQ(entry.affine, (Affine{0.5F, 128}));
  EXPECT_EQ(entry.range, (Range{-64.0F, 63.5F}));
}

TEST(Overrides, ChooseTheZeroPointByTheTypeWhenThereIsNone) {
  const CalibrationTable by_u8 = overridden({{}, {{"data", 0.5F, {}}}, {}});
  EXPECT_EQ(by_u8.find("data")->affine.zero_point, 128);
  const Scheme s8{DType::kInt8, 8, Symmetry::kSymmetric};
  const CalibrationTable by_s8 = overridden({{}, {{"data", 0.5F, {}}}, {}}, s8);
  const ActivationEntry& entry = *by_s8.find("data");
  EXPECT_EQ(entry.affine.zero_point, 0);
  EXPECT_EQ(entry.dtype, DType::kInt8);
  CalibrationTable positive = table();
  positive.activations[0].observed.min = 0.0F;
  apply_overrides({{}, {{"data", 0.5F, {}}}, {}}, kOverriddenScheme, nullptr, positive);
  EXPECT_EQ(positive.activations[0].affine.zero_point, 0);
}

TEST(Overrides, FollowAliases) {
  const CalibrationTable changed = overridden({{{"bn1_out", {0.0F, 1.0F}}}, {}, {}});
  EXPECT_EQ(changed.find("conv1_out")->range.max, 1.0F);
}

TEST(Overrides, LetANameBeatAPatternAndTheLaterBeatTheEarlier) {
  const Overrides overrides{
      {{"conv1_out", {0.0F, 1.0F}}, {"*", {0.0F, 2.0F}}, {"*_out", {0.0F, 3.0F}}}, {}, {}};
  const CalibrationTable changed = overridden(overrides);
  EXPECT_EQ(changed.find("conv1_out")->range.max, 1.0F);
  EXPECT_EQ(changed.find("conv10_out")->range.max, 3.0F);
  EXPECT_EQ(changed.find("data")->range.max, 2.0F);
}

TEST(Overrides, MeasureWhatTheyCostWhereTheStatisticsAreKnown) {
  Collection collection;
  TensorStatistics tensor;
  tensor.tensor = "data";
  const Tensor data = Tensor::of<float>({1, 2, 1, 2}, {0.5F, 1.0F, 1.5F, -1.0F});
  tensor.statistics.observe(data);
  collection.tensors.push_back(tensor);
  CalibrationTable changed = table();
  apply_overrides({{{"data", {-1.0F, 0.75F}}}, {}, {}}, kOverriddenScheme, &collection, changed);
  EXPECT_NEAR(changed.find("data")->saturated_share, 0.5, 1e-9);
  EXPECT_TRUE(changed.find("data")->sqnr_db.has_value());
}

TEST(Overrides, NameWhatIsNearWhenNothingMatches) {
  EXPECT_THAT(override_refusal({{{"conv1_ou", {0.0F, 1.0F}}}, {}, {}}, ErrorCode::kUsage),
              testing::AllOf(testing::HasSubstr("'conv1_ou' matches no calibrated tensor"),
                             testing::HasSubstr("did you mean 'conv1_out' or 'conv10_out'?")));
  override_refusal({{}, {{"conv?", 1.0F, {}}}, {}}, ErrorCode::kUsage);
}

TEST(Overrides, RefuseRangesWithoutZeroAndMapsThatAreNone) {
  constexpr ErrorCode kCode = ErrorCode::kInvalidArgument;
  override_refusal({{{"data", {0.5F, 1.0F}}}, {}, {}}, kCode);
  override_refusal({{{"data", {-2.0F, -1.0F}}}, {}, {}}, kCode);
  override_refusal({{}, {{"data", 0.0F, {}}}, {}}, kCode);
  override_refusal({{}, {{"data", 1e-42F, {}}}, {}}, kCode);
  override_refusal({{}, {{"data", 1.0F, -1}}, {}}, kCode);
  const Scheme four{DType::kUInt8, 4, Symmetry::kAsymmetric};
  override_refusal({{}, {{"data", 1.0F, 16}}, {}}, kCode, four);
  const Scheme symmetric{DType::kInt8, 8, Symmetry::kSymmetric};
  override_refusal({{}, {{"data", 1.0F, 3}}, {}}, kCode, symmetric);
}

TEST(Overrides, NamesAreCheckedBeforeThereIsAnythingButNames) {
  CalibrationTable names;
  names.activations.emplace_back().tensor = "input";
  names.aliases.push_back({"folded", "input"});
  Overrides overrides;
  overrides.ranges.push_back({"in*", {-1.0F, 1.0F}});
  overrides.scales.push_back({"folded", 1.0F, {}});
  EXPECT_NO_THROW(apply_overrides(overrides, Scheme(), nullptr, names));
  overrides.scales.push_back({"inputs", 1.0F, {}});
  try {
    apply_overrides(overrides, Scheme(), nullptr, names);
    ADD_FAILURE() << "an unknown name was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean 'input'"));
  }
}

TEST(OverridesJson, HoldsRangesScalesAndExclusions) {
  const Overrides read = read_overrides(
      R"({"ranges": {"conv1*": [0, 6]}, "scales": {"data": {"scale": 0.02, "zero_point": 128},)"
      R"( "x": {"scale": 1}}, "exclude": ["head/*"]})");
  const Overrides expected{
      {{"conv1*", {0.0F, 6.0F}}}, {{"data", 0.02F, 128}, {"x", 1.0F, {}}}, {"head/*"}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(read_overrides("{}"), Overrides());
}

TEST(OverridesJson, IsWrittenAsItIsRead) {
  Overrides overrides;
  overrides.ranges = {{"a", {-0.1F, 6.0F}}, {"b*", {0.0F, 1e-30F}}};
  overrides.scales = {{"c", 0.3F, std::nullopt}, {"d \"quoted\"", 1.5F, 128}};
  overrides.exclude = {"head/*", "stem"};
  EXPECT_EQ(read_overrides(to_json_text(overrides)), overrides);
  EXPECT_EQ(read_overrides(to_json_text(Overrides())), Overrides());
  overrides.exclude.assign(2, std::string(kMaxOverridesBytes, 'x'));
  EXPECT_THROW(to_json_text(overrides), Error);
}

TEST(OverridesJson, IsStrict) {
  EXPECT_THAT(text_refusal(R"({"range": {}})"), testing::HasSubstr("range"));
  EXPECT_THAT(text_refusal(R"({"ranges": {"a": [1, 2]}})"), testing::HasSubstr("at most 0"));
  text_refusal(R"({"ranges": {"a": [0]}})");
  text_refusal(R"({"ranges": {"": [0, 1]}})");
  text_refusal(R"({"ranges": [1]})");
  text_refusal(R"({"scales": {"a": 1}})");
  text_refusal(R"({"scales": {"a": {"scale": 0}}})");
  text_refusal(R"({"scales": {"a": {"scale": 1, "zero_point": 256}}})");
  text_refusal(R"({"exclude": "a"})");
  text_refusal(R"({"exclude": [""]})");
  text_refusal("[]");
  text_refusal("{");
  text_refusal(std::string(kMaxOverridesBytes + 1, ' '));
}

}  // namespace
}  // namespace qtool
