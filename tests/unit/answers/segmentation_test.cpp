#include "answers/segmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compare/metrics.h"
#include "qtool/answers/answer.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MaskReader reader(const MaskRule& rule, Shape shape, ChannelAxis axis = ChannelAxis::kFirst) {
  return MaskReader(rule, {"map", DType::kFloat32, std::move(shape)}, axis);
}

TEST(MaskReader, TakesTheHighestChannel) {
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  // The four pixels in order: the last channel is the highest, a tie, one channel is NaN, all
  // channels are NaN.
  const std::vector<float> planes{0,   5, nan, nan,  //
                                  1,   5, -2,  nan,  //
                                  inf, 4, -3,  nan};
  const Mask mask = reader({}, {1, 3, 2, 2}).read(planes);
  EXPECT_EQ(mask.width, 2);
  EXPECT_EQ(mask.height, 2);
  EXPECT_THAT(mask.labels, ElementsAre(2, 0, 1, -1));
  const std::vector<float> interleaved{0, 1, inf, 5, 5, 4, nan, -2, -3, nan, nan, nan};
  EXPECT_EQ(reader({}, {1, 2, 2, 3}, ChannelAxis::kLast).read(interleaved).labels, mask.labels);
}

TEST(MaskReader, ComparesTheOnlyChannelWithAThreshold) {
  const std::vector<float> map{0.29F, 0.5F, std::nanf(""), 1.0F};
  EXPECT_THAT(reader({0.5}, {1, 1, 1, 4}).read(map).labels, ElementsAre(0, 1, -1, 1));
  EXPECT_THAT(reader({0.5}, {1, 2, 2}).read(map).labels, ElementsAre(0, 1, -1, 1));
}

TEST(MaskReader, RefusesOutputsThatAreNoSuchMap) {
  const auto message = [](const MaskRule& rule, Shape shape) {
    try {
      static_cast<void>(reader(rule, std::move(shape)));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({}, {1, 1000}), HasSubstr("shape [1, 1000], expected a map"));
  EXPECT_THAT(message({}, {1, 0, 4, 4}), HasSubstr("expected a map"));
  EXPECT_THAT(message({}, {1, 1, 4, 4}), HasSubstr("expected several channels"));
  EXPECT_THAT(message({0.5}, {1, 2, 4, 4}), HasSubstr("expected one channel"));
}

TEST(MaskScorer, AgreesWithCountsByHand) {
  MaskScorer first;
  MaskScorer second;
  first.add({4, 1, {0, 0, 1, 1}}, {4, 1, {0, 1, 1, 1}});
  second.add({2, 1, {2, -1}}, {2, 1, {0, -1}});
  second += first;
  const MaskAgreement result = second.result();
  EXPECT_EQ(result.images, 2);
  EXPECT_EQ(result.pixels, 6);
  EXPECT_EQ(result.equal, 3);  // pixels without a class are never equal
  ASSERT_EQ(result.classes.size(), 3U);
  EXPECT_EQ(result.classes[0].label, 0);
  EXPECT_DOUBLE_EQ(result.classes[0].iou(), 1.0 / 3.0);  // both 1, FP32 2, INT8 2
  EXPECT_DOUBLE_EQ(result.classes[1].iou(), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(result.classes[2].iou(), 0.0);
  EXPECT_DOUBLE_EQ(*result.mean_iou(), 1.0 / 3.0);
  EXPECT_FALSE(MaskScorer().result().mean_iou());
}

TEST(MaskScorer, ReturnsTheCountsOfEachImage) {
  MaskScorer scorer;
  scorer.add({4, 1, {0, 0, 1, 1}}, {4, 1, {0, 1, 1, 1}});
  const MaskAgreement image = scorer.add({3, 1, {2, -1, 7}}, {3, 1, {2, -1, 2}});
  EXPECT_EQ(image.images, 1);
  EXPECT_EQ(image.pixels, 3);
  EXPECT_EQ(image.equal, 1);
  ASSERT_EQ(image.classes.size(), 2U);  // none of the other image
  EXPECT_EQ(image.classes[0].label, 2);
  EXPECT_EQ(image.classes[0].fp32, 1);
  EXPECT_EQ(image.classes[0].int8, 2);
  EXPECT_EQ(image.classes[0].both, 1);
  EXPECT_EQ(image.classes[1].label, 7);
  EXPECT_EQ(image.classes[1].both, 0);
  EXPECT_EQ(scorer.result().pixels, 7);
}

TEST(MaskScorer, RefusesMapsOfDifferentSizes) {
  MaskScorer scorer;
  EXPECT_THROW(scorer.add({2, 1, {0, 0}}, {1, 1, {0}}), Error);
}

TEST(Psnr, OfAKnownError) {
  const std::vector<float> x{0.0F, 1.0F, 0.5F, 0.25F};
  const std::vector<float> y{0.1F, 1.0F, 0.5F, 0.25F};
  // The mean squared error is 0.01 / 4, so the result is 10 log10(400).
  EXPECT_NEAR(psnr_db(sqnr_sums(x, y), 4, 1.0), 26.0206, 1e-4);
  EXPECT_NEAR(psnr_db(sqnr_sums(x, y), 4, 255.0), 26.0206 + 48.1308, 1e-4);
  EXPECT_EQ(psnr_db(sqnr_sums(x, x), 4, 1.0), kSqnrLimitDb);
}

}  // namespace
}  // namespace qtool
