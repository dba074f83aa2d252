// Properties that every table format must have.
#include <gmock/gmock.h>

#include <bit>
#include <random>

#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "support/test_seed.h"

namespace qtool {
namespace {

/// A table of symmetric and asymmetric tensors, scales of any magnitude, and its layers.
struct Sample {
  CalibrationTable table;
  LayerNames names;
};

Sample sample(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-12.0F, 12.0F);
  Sample made;
  made.table.method = "sample";
  for (int i = 0; i < 200; ++i) {
    const std::string number = std::to_string(i);
    ActivationEntry entry;
    entry.tensor = "tensor:" + number;
    const float limit = std::exp2(exponent(random));
    const bool symmetric = i % 2 == 0;
    entry.range = {symmetric ? -limit : -0.25F * limit, limit};
    Scheme scheme;
    if (symmetric) scheme = {DType::kInt8, 8, Symmetry::kSymmetric};
    entry.dtype = scheme.dtype;
    entry.affine = choose_affine(entry.range, scheme);
    made.table.activations.push_back(entry);
    WeightEntry weight;
    weight.tensor = "weight" + number;
    weight.consumer = "layer" + number;
    weight.affines.axis = 0;
    for (int c = 0; c < 8; ++c)
      weight.affines.scales.push_back(std::exp2(exponent(random)) / 127.0F);
    made.table.weights.push_back(weight);
    made.names.push_back({weight.consumer, "Conv", entry.tensor, "", weight.tensor, 0});
  }
  return made;
}

class Format : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] const FormatInfo& format() const { return find_format(GetParam()); }
  [[nodiscard]] std::string written(const Sample& s) const {
    TableWriteOptions options;
    options.names = s.names;
    return format().write(s.table, options);
  }
  [[nodiscard]] CalibrationTable read_back(const std::string& text, const Sample& s) const {
    return format().read(text, {s.names}).table;
  }
};

TEST_P(Format, ReadsBackWhatItCarries) {
  const Sample s = sample(7);
  const CalibrationTable table = read_back(written(s), s);
  ASSERT_EQ(table.activations.size(), s.table.activations.size());
  for (const ActivationEntry& before : s.table.activations) {
    const ActivationEntry* after = table.find(before.tensor);
    ASSERT_NE(after, nullptr) << before.tensor;
    const bool keeps_type = after->dtype == before.dtype;
    if (keeps_type) {
      EXPECT_NEAR(after->affine.scale, before.affine.scale, 1e-3 * before.affine.scale);
      EXPECT_EQ(after->affine.zero_point, before.affine.zero_point);
    }
    EXPECT_NEAR(std::max(-after->range.min, after->range.max), before.range.max,
                1e-2 * before.range.max)
        << before.tensor;
  }
  if (std::find(format().carries.begin(), format().carries.end(), TableContent::kWeightScales) !=
      format().carries.end()) {
    ASSERT_EQ(table.weights.size(), s.table.weights.size());
    for (const WeightEntry& before : s.table.weights) {
      const auto after = std::find_if(table.weights.begin(), table.weights.end(),
                                      [&](const auto& w) { return w.tensor == before.tensor; });
      ASSERT_NE(after, table.weights.end());
      ASSERT_EQ(after->affines.scales.size(), before.affines.scales.size());
      for (std::size_t c = 0; c < before.affines.scales.size(); ++c) {
        EXPECT_NEAR(after->affines.scales[c], before.affines.scales[c],
                    1e-3 * before.affines.scales[c])
            << before.tensor;
      }
    }
  } else {
    EXPECT_TRUE(table.weights.empty());
  }
}

TEST_P(Format, SecondRoundTripChangesNothing) {
  const Sample s = sample(8);
  const std::string first = written(s);
  Sample again;
  again.names = s.names;
  again.table = read_back(first, s);
  const std::string second = written(again);
  Sample third;
  third.names = s.names;
  third.table = read_back(second, s);
  EXPECT_EQ(again.table, third.table);
  EXPECT_EQ(second, written(third));
}

TEST_P(Format, KeepsTheBitsOfScales) {
  if (GetParam() == "ncnn" || GetParam() == "tpu_mlir") {
    GTEST_SKIP() << "a fixed number of decimals";
  }
  Sample s = sample(9);
  if (GetParam() == "ort_json") {
    // Readers of this format derive an asymmetric map from the range, so the table gets that map.
    for (ActivationEntry& e : s.table.activations) e.affine = choose_affine(e.range, {});
  } else {
    std::erase_if(s.table.activations,
                  [](const ActivationEntry& e) { return e.dtype == DType::kUInt8; });
  }
  const CalibrationTable table = read_back(written(s), s);
  for (const ActivationEntry& before : s.table.activations) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(table.find(before.tensor)->affine.scale),
              std::bit_cast<std::uint32_t>(before.affine.scale))
        << before.tensor;
  }
  for (const WeightEntry& after : table.weights) {
    const auto before = std::find_if(s.table.weights.begin(), s.table.weights.end(),
                                     [&](const auto& w) { return w.tensor == after.tensor; });
    ASSERT_NE(before, s.table.weights.end());
    EXPECT_EQ(after.affines.scales, before->affines.scales) << after.tensor;
  }
}

TEST_P(Format, IsRecognisedAloneInWhatItWrites) {
  const std::string text = written(sample(10));
  for (const FormatInfo& other : formats()) {
    EXPECT_EQ(other.recognises(text), other.name == GetParam()) << other.name;
  }
  EXPECT_EQ(recognise(text, "file").name, GetParam());
}

TEST_P(Format, AnswersAnyBytesWithATableOrAnError) {
  const Sample s = sample(11);
  const std::string good = written(s);
  const unsigned seed = tests::test_seed();
  std::mt19937 random(seed);
  RecordProperty("seed", std::to_string(seed));
  int refused = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string bytes = good.substr(0, 4000);
    if (trial % 2 == 0) bytes.resize(random() % bytes.size());
    for (int edit = 0; edit < trial % 5 && !bytes.empty(); ++edit) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    try {
      for (const FormatInfo& other : formats()) static_cast<void>(other.recognises(bytes));
      format().read(bytes, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidTable) << "seed " << seed << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_P(Format, RefusesMoreBytesThanATableMayHave) {
  const std::string huge(static_cast<std::size_t>(kMaxTableBytes) + 1, ' ');
  EXPECT_THROW(format().read(huge, {}), Error);
}

TEST_P(Format, RefusesControlCharactersInNames) {
  if (GetParam() == "qtool" || GetParam() == "aimet" || GetParam() == "ort_json") {
    GTEST_SKIP() << "JSON escapes them";
  }
  Sample s = sample(12);
  s.table.activations[3].tensor += "\n";
  s.names[3].input += "\n";
  s.names[3].layer += "\n";
  EXPECT_THROW(static_cast<void>(written(s)), Error);
}

std::vector<std::string_view> format_list() {
  std::vector<std::string_view> names;
  for (const FormatInfo& format : formats()) names.push_back(format.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Format, testing::ValuesIn(format_list()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace qtool
