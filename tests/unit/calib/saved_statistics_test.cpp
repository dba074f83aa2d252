#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "calib/decide.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/collect.h"
#include "support/float_view.h"
#include "support/places.h"

namespace qtool {
namespace {

Statistics drawn_statistics(unsigned seed, float shift) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(shift, 2.0F);
  Statistics statistics;
  for (int image = 0; image < 3; ++image) {
    std::vector<float> values(4 * 50);
    for (float& value : values) value = std::max(normal(random), shift > 0.0F ? 0.0F : -1e9F);
    statistics.observe(float_view(values, {1, 4, 50}), 10 + image);
  }
  return statistics;
}

Collection sample_collection() {
  Collection collection;
  collection.model_fingerprint = 0x0123456789ABCDEFULL;
  collection.model_path = "some/model.onnx";
  collection.table_hash = 0xFEDCBA9876543210ULL;
  collection.image_list_hash = 42;
  collection.image_count = 3;
  collection.image_ids = {5, 6, 0xFEDCBA9876543210ULL};
  collection.outputs = Outputs::kMaps;
  collection.preprocess.emplace().mean = {123.675F, 116.28F, 103.53F};
  collection.tensors.push_back({"input", "", drawn_statistics(1, -0.5F)});
  collection.tensors.push_back({"relu \"out\"", "relu", drawn_statistics(2, 0.5F)});
  collection.tensors.push_back({"nothing", "dead", Statistics()});
  Statistics counted = drawn_statistics(3, 0.0F);
  LinearHistogram exact = magnitude_histogram(counted.histogram(), 2048);
  std::swap(exact.counts.front(), exact.counts.back());  // differs from the cells
  counted.set_exact_magnitudes(exact);
  collection.tensors.push_back({"counted", "conv", counted});
  return collection;
}

TEST(SavedStatistics, ReadBackAsTheyWere) {
  const Collection before = sample_collection();
  const Collection after = read_collection(write_collection(before));
  EXPECT_EQ(after.model_fingerprint, before.model_fingerprint);
  EXPECT_EQ(after.model_path, before.model_path);
  EXPECT_EQ(after.table_hash, before.table_hash);
  EXPECT_EQ(after.image_list_hash, before.image_list_hash);
  EXPECT_EQ(after.image_count, before.image_count);
  EXPECT_EQ(after.image_ids, before.image_ids);
  EXPECT_EQ(after.outputs, before.outputs);
  EXPECT_EQ(after.preprocess, before.preprocess);
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(write_collection(after), write_collection(before));
}

TEST(SavedStatistics, GiveEveryMethodTheSameTable) {
  const Collection before = sample_collection();
  const Collection after = read_collection(write_collection(before));
  for (const MethodInfo& method : methods()) {
    EXPECT_EQ(write_table(decide(after, method.name, {})),
              write_table(decide(before, method.name, {})))
        << method.name;
  }
}

// One part is sampled; all values of the other part are counted.
TEST(SavedStatistics, GiveAConcatenationTheSameTable) {
  const auto image = [](std::int64_t channels) {
    std::mt19937 random(static_cast<unsigned>(channels));
    std::normal_distribution<float> normal(0.0F, static_cast<float>(channels));
    std::vector<float> values(static_cast<std::size_t>(channels * 50 * 50));
    for (float& value : values) value = std::max(normal(random), 0.0F);
    Statistics statistics;
    statistics.observe(float_view(values, {1, channels, 50, 50}), 0, Counting::sample_of(1000));
    return statistics;
  };
  const Statistics whole = image(6);
  const Statistics sampled = image(120);
  ASSERT_EQ(whole.histogram().count(), whole.count());
  ASSERT_LT(sampled.histogram().count(), sampled.count());
  const auto of_parts = [&](const Statistics& first, const Statistics& second) {
    Collection collection;
    collection.image_count = 1;
    const Statistics* const both[] = {&first, &second};
    collection.tensors.push_back({"whole", "", first});
    collection.tensors.push_back({"sampled", "", second});
    collection.tensors.push_back({"both", "", Statistics::of_concatenation(both)});
    return collection;
  };
  const Collection before = of_parts(whole, sampled);
  const Collection after = read_collection(write_collection(before));
  EXPECT_EQ(after.tensors, before.tensors);
  const Collection again = of_parts(after.tensors[0].statistics, after.tensors[1].statistics);
  EXPECT_EQ(again.tensors, before.tensors);
  for (const MethodInfo& method : methods()) {
    const std::string table = write_table(decide(before, method.name, {}));
    EXPECT_EQ(write_table(decide(after, method.name, {})), table) << method.name;
  }
}

std::string collection_refusal(const std::string& bytes) {
  try {
    static_cast<void>(read_collection(bytes));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidTable) << error.what();
    return error.what();
  }
  return {};
}

TEST(SavedStatistics, AreRefusedWhenBinsHoldMoreThanTheValues) {
  Collection collection = sample_collection();
  Statistics& counted = collection.tensors.back().statistics;
  LinearHistogram exact = counted.magnitudes(2048);
  exact.counts[5] += counted.zeros() + 1;
  counted.set_exact_magnitudes(exact);
  EXPECT_NE(collection_refusal(write_collection(collection)), "");
}

TEST(SavedStatistics, AreReadFromEverySeedOfTheFuzzTarget) {
  namespace fs = std::filesystem;
  int seeds = 0;
  for (const auto& file : fs::directory_iterator(fs::path(kSourceFolder) / "tests" / "fuzz" /
                                                 "corpus" / "read_statistics")) {
    EXPECT_FALSE(read_collection(read_file(file.path(), kMaxStatisticsBytes)).tensors.empty())
        << file.path();
    ++seeds;
  }
  EXPECT_GE(seeds, 2);
}

// Method `auto` relies on the extremes of the images.
TEST(SavedStatistics, AreRefusedWhenExtremesOfImagesContradictTheRest) {
  const auto accepted = [](void (*spoil)(StatisticsState&)) {
    StatisticsState state = drawn_statistics(1, -0.5F).state();
    spoil(state);
    try {
      static_cast<void>(Statistics::from_state(std::move(state)));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(accepted([](StatisticsState&) {}));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes[1].max = kInf; }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes[1].min = -kInf; }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes[0].max = kNan; }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes[0].min = kNan; }));
  EXPECT_FALSE(
      accepted([](StatisticsState& s) { std::swap(s.extremes[2].min, s.extremes[2].max); }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes[2].max = 2.0F * s.histogram.max(); }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes.pop_back(); }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes.clear(); }));
  EXPECT_FALSE(accepted([](StatisticsState& s) { s.extremes.push_back(s.extremes.back()); }));
}

TEST(SavedStatistics, AreRefusedWhenAnotherVersionSavedThem) {
  std::string bytes = write_collection(sample_collection());
  bytes.replace(bytes.find("\"schema\":4"), 10, "\"schema\":3");
  EXPECT_NE(collection_refusal(bytes).find("found schema 3, expected 4"), std::string::npos);
}

TEST(SavedStatistics, AreRefusedWhenOutputsAreOfNoKnownKind) {
  std::string bytes = write_collection(sample_collection());
  const std::size_t place = bytes.find(R"("maps")");
  ASSERT_NE(place, std::string::npos);
  EXPECT_NE(collection_refusal(bytes.replace(place, 6, R"("mops")")).find("'vectors' or 'maps'"),
            std::string::npos);
}

TEST(SavedStatistics, AreRefusedWhenCutOffAnywhere) {
  const std::string whole = write_collection(sample_collection());
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const std::size_t kept = random() % whole.size();
    EXPECT_FALSE(collection_refusal(whole.substr(0, kept)).empty()) << kept;
  }
  EXPECT_NE(collection_refusal(whole + "x").find("behind the last"), std::string::npos);
}

TEST(SavedStatistics, AreReadOrRefusedWhateverTheBytes) {
  const std::string whole = write_collection(sample_collection());
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    // Most of the damage goes to the binary part, which no grammar protects.
    const std::size_t from = i % 3 == 0 ? 0 : whole.find('\n');
    for (int change = 0; change < 3; ++change) {
      bytes[from + random() % (bytes.size() - from)] = static_cast<char>(random() % 256);
    }
    refused += collection_refusal(bytes).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

TEST(SavedStatistics, MustNotClaimMoreThanTheyHold) {
  EXPECT_FALSE(collection_refusal("").empty());
  EXPECT_FALSE(collection_refusal("{}\n").empty());
  const std::string text = write_collection(sample_collection());
  // A histogram of 2^62 cells must be refused before it is allocated.
  std::string head = text.substr(0, text.find('\n') + 1);
  EXPECT_FALSE(collection_refusal(head + std::string(9, '\xFF')).empty());
}

TEST(FromCells, RefusesCountsThatDoNotFitTheExtremes) {
  const std::vector<std::int64_t> cells(100, 1);
  EXPECT_THROW(FloatHistogram::from_cells(0.0F, 1.0F, 5, cells), Error);
  EXPECT_THROW(FloatHistogram::from_cells(1.0F, 0.0F, 5, {}), Error);
  EXPECT_THROW(FloatHistogram::from_cells(0.0F, 0.0F, -5, {}), Error);
  EXPECT_EQ(FloatHistogram::from_cells(0.0F, 0.0F, 5, {}).zeros(), 5);
}

}  // namespace
}  // namespace qtool
