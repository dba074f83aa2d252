#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/calib/statistics.h"

namespace qtool {
namespace {

Tensor random_tensor(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.2F, 1.0F);
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.values<float>()) value = std::max(normal(random), -1.0F);
  return tensor;
}

// N, C, H, W elements in N, H, W, C order.
std::vector<float> channels_last(const Tensor& tensor) {
  const Shape& s = tensor.shape();
  const auto values = tensor.values<float>();
  std::vector<float> out;
  for (std::int64_t n = 0; n < s[0]; ++n) {
    for (std::int64_t p = 0; p < s[2] * s[3]; ++p) {
      for (std::int64_t c = 0; c < s[1]; ++c) {
        out.push_back(values[static_cast<std::size_t>((n * s[1] + c) * s[2] * s[3] + p)]);
      }
    }
  }
  return out;
}

Statistics statistics_of(const TensorView& tensor) {
  Statistics statistics;
  statistics.observe(tensor);
  return statistics;
}

TEST(Statistics, StartEmpty) {
  const Statistics empty;
  EXPECT_EQ(empty.count(), 0);
  EXPECT_EQ(empty.images(), 0);
  EXPECT_EQ(empty.mean(), 0.0);
  EXPECT_EQ(empty.standard_deviation(), 0.0);
  EXPECT_EQ(empty.range(), (Range{0.0F, 0.0F}));
}

TEST(Statistics, DescribeATensorByHand) {
  const Tensor tensor = Tensor::of<float>({1, 2, 2}, {1.0F, 3.0F, -2.0F, 0.0F});
  const Statistics statistics = statistics_of(tensor);
  EXPECT_EQ(statistics.images(), 1);
  EXPECT_EQ(statistics.channels(), 2);
  EXPECT_EQ(statistics.count(), 4);
  EXPECT_EQ(statistics.zeros(), 1);
  EXPECT_EQ(statistics.min(), -2.0F);
  EXPECT_EQ(statistics.max(), 3.0F);
  EXPECT_DOUBLE_EQ(statistics.mean(), 0.5);
  EXPECT_DOUBLE_EQ(statistics.standard_deviation(), std::sqrt(14.0 / 4.0 - 0.25));
  EXPECT_DOUBLE_EQ(statistics.channel_mean(0), 2.0);
  EXPECT_DOUBLE_EQ(statistics.channel_mean(1), -1.0);
  EXPECT_EQ(statistics.channel_min(1), -2.0F);
  EXPECT_EQ(statistics.channel_max(0), 3.0F);
}

TEST(Statistics, SumEveryValueOnceWhateverTheShape) {
  for (const Shape& shape :
       {Shape{1, 1000}, Shape{2, 7}, Shape{1, 3, 5}, Shape{2, 5, 7, 7}, Shape{1, 3, 190, 191},
        Shape{1, 37, 1, 1}, Shape{1, 130, 14, 14}, Shape{1, 5000}, Shape{1, 2, 3, 4, 5}}) {
    const Tensor tensor = random_tensor(shape, 1);
    const Statistics statistics = statistics_of(tensor);
    const auto values = tensor.values<float>();
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    double squares = 0.0;
    for (const float value : values) squares += double{value} * value;
    const auto count = static_cast<double>(values.size());
    EXPECT_EQ(statistics.count(), tensor.elements()) << shape.to_string();
    EXPECT_NEAR(statistics.mean(), sum / count, 1e-12);
    const double variance = squares / count - sum / count * (sum / count);
    EXPECT_NEAR(statistics.standard_deviation(), std::sqrt(variance), 1e-12);
    EXPECT_EQ(statistics.channels(), shape[1]);
  }
}

TEST(Statistics, AgreeOnBothLayouts) {
  for (const Shape& shape : {Shape{2, 3, 9, 11}, Shape{1, 24, 33, 33}, Shape{1, 5000, 1, 2},
                             Shape{1, 3, 190, 191}, Shape{1, 2100, 4, 5}}) {
    Tensor tensor = random_tensor(shape, 2);
    // Multiples of 1/64: every partial sum is exact, so both orders of addition agree.
    for (float& value : tensor.values<float>()) value = std::nearbyint(value * 64.0F) / 64.0F;
    const std::vector<float> last = channels_last(tensor);
    const TensorView view(reinterpret_cast<const std::byte*>(last.data()), DType::kFloat32, shape,
                          Layout::kChannelsLast);
    EXPECT_EQ(statistics_of(view), statistics_of(tensor)) << shape.to_string();
  }
}

TEST(Statistics, TakeABatchAsItsImages) {
  const Tensor batch = random_tensor({4, 6, 10, 10}, 3);
  const Statistics whole = statistics_of(batch);
  EXPECT_EQ(whole.images(), 4);
  Statistics backwards;
  for (std::int64_t n = 3; n >= 0; --n) {
    backwards.observe(TensorView(batch.data() + n * 600 * 4, DType::kFloat32, Shape{1, 6, 10, 10}));
  }
  EXPECT_EQ(backwards, whole);
}

TEST(Statistics, MergeExactly) {
  Statistics whole;
  std::vector<Statistics> parts(3);
  for (unsigned image = 0; image < 12; ++image) {
    Tensor tensor = random_tensor({1, 5, 8, 8}, image);
    for (float& value : tensor.values<float>()) value *= static_cast<float>(image + 1);
    whole.observe(tensor);
    parts[image % 3].observe(tensor);
  }
  Statistics merged;
  for (const std::size_t part : {2U, 0U, 1U}) merged.merge(parts[part]);
  merged.merge(Statistics());
  EXPECT_EQ(merged, whole);
  EXPECT_EQ(merged.mean(), whole.mean());
  EXPECT_NE(merged, parts[0]);
}

TEST(Statistics, MergeByTakingAsByCopying) {
  const Statistics first = statistics_of(random_tensor({2, 5, 8, 8}, 1));
  const Statistics second = statistics_of(random_tensor({1, 5, 8, 8}, 2));
  Statistics copied = first;
  copied.merge(second);
  Statistics taken;
  for (const Statistics* part : {&first, &second}) {
    Statistics given = *part;
    given.set_exact_magnitudes({0.0, given.absmax(), std::vector<std::int64_t>(8)});
    taken.merge(std::move(given));
    EXPECT_EQ(given, Statistics());  // NOLINT(bugprone-use-after-move): promised
  }
  taken.merge(Statistics());
  EXPECT_EQ(taken, copied);
  EXPECT_EQ(taken.magnitudes(8), copied.magnitudes(8)) << "exact magnitudes of a part stayed";
}

TEST(Statistics, OfAConcatenationFollowFromThoseOfItsParts) {
  // Whole numbers, whose sums are exact in any order.
  const auto whole = [](const Shape& shape, unsigned seed) {
    Tensor tensor = random_tensor(shape, seed);
    for (float& value : tensor.values<float>()) value = std::round(8.0F * value);
    return tensor;
  };
  const Tensor first = whole({5, 3, 6, 7}, 1);
  const Tensor second = whole({5, 2, 6, 7}, 2);
  Tensor both(DType::kFloat32, {5, 5, 6, 7});
  const std::int64_t plane = 6 * 7;
  for (std::int64_t n = 0; n < 5; ++n) {
    const auto image = both.values<float>().subspan(static_cast<std::size_t>(5 * plane * n));
    std::copy_n(first.values<float>().begin() + 3 * plane * n, 3 * plane, image.begin());
    std::copy_n(second.values<float>().begin() + 2 * plane * n, 2 * plane,
                image.begin() + 3 * plane);
  }
  const Statistics a = statistics_of(first);
  const Statistics b = statistics_of(second);
  const Statistics* const parts[] = {&a, &b};
  EXPECT_EQ(Statistics::of_concatenation(parts), statistics_of(both));

  Statistics longer = b;
  longer.observe(whole({1, 2, 6, 7}, 3));
  const Statistics* const others[] = {&a, &longer};
  EXPECT_THROW(Statistics::of_concatenation(others), Error);
  EXPECT_EQ(Statistics::of_concatenation({}), Statistics());
}

TEST(Statistics, NameAValueThatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const Shape& shape :
         {Shape{1, 2, 40, 40}, Shape{1, 3200}, Shape{1, 2, 1600, 1}, Shape{1, 3, 150, 150}}) {
      for (const std::int64_t place : {std::int64_t{1777}, shape.elements() - 3}) {
        Tensor tensor = random_tensor(shape, 4);
        tensor.values<float>()[static_cast<std::size_t>(place)] = bad;
        Statistics statistics;
        try {
          statistics.observe(tensor);
          FAIL() << "no error";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
          EXPECT_NE(std::string(error.what()).find("element " + std::to_string(place) + ","),
                    std::string::npos)
              << error.what();
        }
      }
    }
  }
}

TEST(Statistics, RefuseOtherTensors) {
  Statistics statistics;
  EXPECT_THROW(statistics.observe(Tensor(DType::kInt64, {1, 2})), Error);
  EXPECT_THROW(statistics.observe(Tensor(DType::kFloat32, {5})), Error);
  EXPECT_THROW(statistics.observe(Tensor(DType::kFloat32, {1, 1, 1, 1, 1, 1})), Error);
  statistics.observe(Tensor(DType::kFloat32, {1, 2}));
  EXPECT_THROW(statistics.observe(Tensor(DType::kFloat32, {1, 3})), Error);
  EXPECT_THROW(statistics.merge(statistics_of(Tensor(DType::kFloat32, {1, 3}))), Error);
}

TEST(Statistics, TreatDenormalsAsZero) {
  const Tensor tensor = Tensor::of<float>({1, 2}, {1e-40F, -1e-41F});
  const Statistics statistics = statistics_of(tensor);
  EXPECT_EQ(statistics.zeros(), 2);
  EXPECT_EQ(statistics.min(), 0.0F);
  EXPECT_EQ(statistics.absmax(), 0.0F);
  EXPECT_EQ(statistics.channel_max(0), 0.0F);
  EXPECT_EQ(statistics.mean(), 0.0);
}

}  // namespace
}  // namespace qtool
