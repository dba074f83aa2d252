#include "calib/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "support/float_view.h"

namespace qtool {
namespace {

Tensor clipped_normal(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.2F, 1.0F);
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.values<float>()) value = std::max(normal(random), -1.0F);
  return tensor;
}

// The elements of an N, C, H, W tensor, in the order N, H, W, C.
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

// Counts as few values of each image as for a long list of images.
constexpr Counting kSampled = Counting::sample_of(1000);

Statistics statistics_of(const TensorView& tensor) {
  Statistics statistics;
  statistics.observe(tensor, 0, kSampled);
  return statistics;
}

Statistics statistics_of(const Tensor& tensor) { return statistics_of(TensorView(tensor)); }

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
    const Tensor tensor = clipped_normal(shape, 1);
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
    Tensor tensor = clipped_normal(shape, 2);
    // Multiples of 1/64: every partial sum is exact, so both orders of addition agree.
    for (float& value : tensor.values<float>()) value = std::nearbyint(value * 64.0F) / 64.0F;
    const std::vector<float> last = channels_last(tensor);
    const TensorView view = float_view(last, shape, Layout::kChannelsLast);
    EXPECT_EQ(statistics_of(view), statistics_of(tensor)) << shape.to_string();
  }
}

TEST(Statistics, TakeABatchAsItsImages) {
  const Tensor batch = clipped_normal({4, 6, 10, 10}, 3);
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
    Tensor tensor = clipped_normal({1, 5, 8, 8}, image);
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
  const Statistics first = statistics_of(clipped_normal({2, 5, 8, 8}, 1));
  const Statistics second = statistics_of(clipped_normal({1, 5, 8, 8}, 2));
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
    Tensor tensor = clipped_normal(shape, seed);
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
  const Tensor more = whole({1, 2, 6, 7}, 3);
  longer.observe(more);
  const Statistics* const others[] = {&a, &longer};
  EXPECT_THROW(Statistics::of_concatenation(others), Error);
  EXPECT_EQ(Statistics::of_concatenation({}), Statistics());
}

// An image with more values than are counted. The second half of its channels is four times as
// large as the first, and so are its lower right pixels.
Tensor large_image(const Shape& shape, unsigned seed) {
  Tensor tensor = clipped_normal(shape, seed);
  const std::int64_t plane = shape.elements() / shape[1];
  const auto values = tensor.values<float>();
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    for (std::int64_t p = 0; p < plane; ++p) {
      float& value = values[static_cast<std::size_t>(c * plane + p)];
      value = std::max(value, 0.0F);
      if (c >= shape[1] / 2) value *= 4.0F;
      if (2 * p > plane && p % shape[3] > shape[3] / 2) value *= 4.0F;
    }
  }
  return tensor;
}

TEST(Statistics, OfALargeImageAreExactButForASampleInTheHistogram) {
  for (const Shape& shape : {Shape{1, 3, 224, 224}, Shape{1, 96, 112, 112}, Shape{1, 64, 55, 55},
                             Shape{1, 256, 28, 28}, Shape{1, 5, 400, 333}}) {
    ASSERT_GT(shape.elements(), Counting::kMinCounted);
    const Tensor tensor = large_image(shape, 3);
    Statistics all;
    all.observe(tensor, 0, Counting::all());
    const Statistics some = statistics_of(tensor);
    EXPECT_EQ(all.histogram().count(), shape.elements()) << shape.to_string();
    EXPECT_EQ(some.count(), all.count());
    EXPECT_EQ(some.zeros(), all.zeros());
    EXPECT_EQ(some.zeros(), all.histogram().zeros());
    EXPECT_EQ(some.range(), all.range());
    EXPECT_EQ(some.mean(), all.mean());
    EXPECT_EQ(some.standard_deviation(), all.standard_deviation());
    EXPECT_EQ(some.channel_mean(1), all.channel_mean(1));
    EXPECT_EQ(some.channel_max(2), all.channel_max(2));

    const auto counted = static_cast<double>(some.histogram().count());
    EXPECT_GT(counted, 0.6 * Counting::kMinCounted) << shape.to_string();
    EXPECT_LE(counted, 1.1 * Counting::kMinCounted) << shape.to_string();
    // All channels and positions are sampled equally. So the shares of zeros and of each twentieth
    // of the range equal the shares among all values, within four standard errors of a sample of
    // single pixels.
    const LinearHistogram a = all.magnitudes(20);
    const LinearHistogram s = some.magnitudes(20);
    const double pixels = counted / static_cast<double>(shape[1]);
    for (std::size_t bin = 0; bin < 20; ++bin) {
      const double share =
          static_cast<double>(a.counts[bin]) / static_cast<double>(shape.elements());
      EXPECT_NEAR(static_cast<double>(s.counts[bin]) / counted, share,
                  4.0 * std::sqrt(share / std::min(counted, 4.0 * pixels)) + 1e-4)
          << shape.to_string() << ' ' << bin;
    }
  }
}

TEST(Statistics, CountMoreOfEachImageWhereImagesAreFew) {
  const Tensor small = clipped_normal({1, 16, 32, 32}, 1);  // few enough to be counted whole
  const Tensor large = clipped_normal({1, 24, 160, 160}, 2);
  const auto counted = [](const Tensor& tensor, std::int64_t images) {
    Statistics statistics;
    statistics.observe(tensor, 0, Counting::sample_of(images));
    return statistics.histogram().count();
  };
  for (const std::int64_t images : {1, 3, 7, 20, 64, 1000, 1 << 30}) {
    EXPECT_EQ(counted(small, images), small.elements()) << images;
    const double most = std::min<double>(
        std::max<double>(images <= Counting::kFew ? Counting::kMinOfFew : Counting::kMinCounted,
                         Counting::kTogether / static_cast<double>(images)),
        static_cast<double>(large.elements()));
    EXPECT_GT(static_cast<double>(counted(large, images)), 0.45 * most) << images;
    EXPECT_LE(static_cast<double>(counted(large, images)), 1.1 * most) << images;
  }
  EXPECT_EQ(counted(large, 1), large.elements());
  EXPECT_LT(counted(large, 20), large.elements());
}

TEST(Statistics, CountImagesInDifferentPlaces) {
  // If the same positions were counted in all images, a value that occurs in one pixel would be
  // counted in all of them or in none.
  const Shape shape{1, 3, 240, 320};
  std::mt19937 random(9);
  int counted = 0;
  constexpr int kImages = 120;
  for (int image = 0; image < kImages; ++image) {
    Tensor tensor(DType::kFloat32, shape);
    for (float& value : tensor.values<float>()) value = static_cast<float>(random() % 256);
    tensor.values<float>()[100 * 320 + 77] = 1000.0F;
    Counting counting = kSampled;
    counting.random_start = static_cast<std::uint32_t>(random());
    Statistics statistics;
    statistics.observe(tensor, 0, counting);
    counted += statistics.magnitudes(10).counts[9] > 0 ? 1 : 0;
  }
  EXPECT_GT(counted, kImages / 40);
  EXPECT_LT(counted, kImages / 6);
}

TEST(Statistics, CountSomethingOfEveryImageHoweverFewItsPixels) {
  for (const Shape& shape :
       {Shape{1, 70000}, Shape{1, 50000, 1, 2}, Shape{1, 30000, 3, 1}, Shape{1, 40000, 2, 2},
        Shape{1, 9000, 3, 3}, Shape{1, 1, 1, 70000}, Shape{1, 1, 300, 300}}) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      const Statistics statistics = statistics_of(clipped_normal(shape, seed));
      EXPECT_GE(statistics.histogram().count(), Counting::kMinCounted / 3) << shape.to_string();
      EXPECT_EQ(statistics.count(), shape.elements());
    }
  }
}

TEST(Statistics, CountAFewPixelsHoweverManyTheirChannels) {
  for (const Shape& shape :
       {Shape{1, 1280, 7, 7}, Shape{1, 2000, 14, 14}, Shape{1, 1000, 13, 13}}) {
    const std::int64_t pixels = shape[2] * shape[3];
    for (unsigned seed = 0; seed < 4; ++seed) {
      const Statistics statistics = statistics_of(clipped_normal(shape, seed));
      EXPECT_GE(statistics.histogram().count(), std::min<std::int64_t>(24, pixels) * shape[1]);
      EXPECT_LT(statistics.histogram().count(), statistics.count());
    }
  }
}

TEST(Statistics, CountTheSamePlacesOfAnImageTimesAPowerOfTwo) {
  const Tensor tensor = large_image({1, 24, 73, 91}, 5);
  Tensor scaled = tensor.clone();
  for (float& value : scaled.values<float>()) value *= 0x1p-7F;
  const FloatHistogram before = statistics_of(tensor).histogram();
  const FloatHistogram after = statistics_of(scaled).histogram();
  ASSERT_LT(before.count(), tensor.elements());
  EXPECT_EQ(after.cells(), before.cells());
  EXPECT_EQ(after.zeros(), before.zeros());
  EXPECT_EQ(128.0 * after.cell_width(), before.cell_width());
}

TEST(Statistics, OfALargeImageDoNotDependOnLayoutOrGrouping) {
  const Tensor first = large_image({1, 24, 73, 91}, 1);
  const Tensor second = large_image({1, 24, 73, 91}, 2);
  const Shape shape{2, 24, 73, 91};
  Tensor batch(DType::kFloat32, shape);
  const auto values = batch.values<float>();
  std::copy(first.values<float>().begin(), first.values<float>().end(), values.begin());
  std::copy(second.values<float>().begin(), second.values<float>().end(),
            values.begin() + first.elements());
  // Multiples of 1/64, whose sums are exact in any order.
  for (float& value : values) value = std::nearbyint(value * 64.0F) / 64.0F;
  const Statistics whole = statistics_of(batch);
  Statistics backwards;
  for (std::int64_t n = 1; n >= 0; --n) {
    backwards.observe(
        TensorView(batch.data() + n * first.elements() * 4, DType::kFloat32, first.shape()), n,
        kSampled);
  }
  EXPECT_EQ(backwards, whole);
  const std::vector<float> last = channels_last(batch);
  EXPECT_EQ(statistics_of(float_view(last, shape, Layout::kChannelsLast)), whole);
}

TEST(Statistics, OfAConcatenationWeighSamplesByWhatTheyStandFor) {
  const Tensor narrow = clipped_normal({1, 6, 50, 50}, 1);  // all of 15,000 values
  const Tensor wide = clipped_normal({1, 120, 50, 50}, 2);  // a sample of 300,000
  const Statistics a = statistics_of(narrow);
  const Statistics b = statistics_of(wide);
  ASSERT_EQ(a.histogram().count(), 15'000);
  const std::int64_t counted = b.histogram().count();
  ASSERT_GT(counted, Counting::kMinCounted / 2);
  ASSERT_LE(counted, Counting::kMinCounted);
  const auto factor =
      static_cast<std::int64_t>(std::nearbyint(300'000.0 / static_cast<double>(counted)));
  const Statistics* const parts[] = {&a, &b};
  const Statistics both = Statistics::of_concatenation(parts);
  EXPECT_EQ(both.count(), 315'000);
  EXPECT_EQ(both.histogram().count(), 15'000 + factor * counted);
  EXPECT_EQ(both.histogram().zeros(), a.histogram().zeros() + factor * b.histogram().zeros());
  const Statistics* const equal[] = {&b, &b};
  EXPECT_EQ(Statistics::of_concatenation(equal).histogram().count(), 2 * counted);
}

TEST(Statistics, NameAValueThatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const Shape& shape :
         {Shape{1, 2, 40, 40}, Shape{1, 3200}, Shape{1, 2, 1600, 1}, Shape{1, 3, 150, 150}}) {
      for (const std::int64_t place : {std::int64_t{1777}, shape.elements() - 3}) {
        Tensor tensor = clipped_normal(shape, 4);
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
  const auto observe = [&](DType dtype, const Shape& shape) {
    const Tensor tensor(dtype, shape);
    statistics.observe(tensor);
  };
  EXPECT_THROW(observe(DType::kInt64, {1, 2}), Error);
  EXPECT_THROW(observe(DType::kFloat32, {5}), Error);
  EXPECT_THROW(observe(DType::kFloat32, {1, 1, 1, 1, 1, 1}), Error);
  observe(DType::kFloat32, {1, 2});
  EXPECT_THROW(observe(DType::kFloat32, {1, 3}), Error);
  const Tensor wider(DType::kFloat32, {1, 3});
  EXPECT_THROW(statistics.merge(statistics_of(wider)), Error);
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
