#include "compare/kept_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "compare/intervals.h"

namespace qtool {
namespace {

// The intervals of all samples, written to `all`.
void write_intervals(const std::vector<AnswerCounts>& samples, AnswerAgreement& all,
                     std::int64_t most_class_counts = kMostClassCounts) {
  KeptCounts counts(samples.size(), most_class_counts);
  for (std::size_t i = samples.size(); i > 0; --i) counts.keep(i - 1, samples[i - 1]);
  counts.write_intervals(all);
}

// The intervals of the first entry of BoxAgreement::matches.
BoxMatch match_of(const std::vector<BoxCounts>& images) {
  AnswerAgreement all;
  BoxMatch& match = all.boxes.emplace().matches.emplace_back();
  std::vector<AnswerCounts> samples;
  for (const BoxCounts& one : images) {
    match.fp32 += one.fp32;
    match.int8 += one.int8;
    match.kept += one.kept;
    samples.push_back({.boxes = {one}});
  }
  write_intervals(samples, all);
  return all.boxes->matches[0];
}

TEST(KeptCounts, BoxesThatAreAllKeptMayBeLostInOtherImages) {
  const BoxMatch match = match_of(std::vector<BoxCounts>(10, {2, 2, 2}));
  EXPECT_EQ(match.kept_interval, wilson_interval(20, 20));
  EXPECT_EQ(match.added_interval, wilson_interval(0, 20));
}

TEST(KeptCounts, BoxesOfOneImageCountTogether) {
  // In half of the images all boxes are lost.
  std::vector<BoxCounts> images;
  for (int i = 0; i < 10; ++i) images.push_back({20, 20, i % 2 == 0 ? 20 : 0});
  const Interval kept = match_of(images).kept_interval.value();
  EXPECT_LT(kept.low, 0.3);
  EXPECT_GT(kept.high, 0.7);
  const Interval boxes = wilson_interval(100, 200).value();
  EXPECT_GT(boxes.low, 0.4);
}

TEST(KeptCounts, MoreBoxesMayBeAddedThanFloatHas) {
  std::vector<BoxCounts> images;
  for (int i = 0; i < 10; ++i) images.push_back({1, 3 + i % 3, 1});
  const Interval added = match_of(images).added_interval.value();
  EXPECT_LT(added.low, 2.9);
  EXPECT_GT(added.high, 2.9);
}

TEST(KeptCounts, BoxesOfAFewImagesHaveNoInterval) {
  EXPECT_FALSE(match_of({{2, 2, 1}}).kept_interval.has_value());
  EXPECT_FALSE(match_of(std::vector<BoxCounts>(5, {90, 90, 88})).kept_interval.has_value());
  EXPECT_TRUE(match_of(std::vector<BoxCounts>(6, {90, 90, 88})).kept_interval.has_value());
}

// Images of two classes and `pixels` pixels, of which `lost` of class 0 become class 1.
AnswerCounts two_classes(std::int64_t pixels, std::int64_t lost) {
  const std::int64_t half = pixels / 2;
  AnswerCounts counts;
  counts.mask = {.images = 1,
                 .pixels = pixels,
                 .equal = pixels - lost,
                 .classes = {{0, half, half - lost, half - lost}, {1, half, half + lost, half}}};
  return counts;
}

// The agreement of all images, with its intervals.
MaskAgreement mask_of(const std::vector<AnswerCounts>& samples,
                      std::int64_t most_class_counts = kMostClassCounts) {
  AnswerAgreement agreement;
  MaskAgreement& all = agreement.mask.emplace();
  for (const AnswerCounts& sample : samples) {
    ++all.images;
    all.pixels += sample.mask->pixels;
    all.equal += sample.mask->equal;
    for (const ClassPixels& one : sample.mask->classes) {
      const auto same = [&](const ClassPixels& other) { return other.label >= one.label; };
      auto at = std::find_if(all.classes.begin(), all.classes.end(), same);
      if (at == all.classes.end() || at->label != one.label) {
        at = all.classes.insert(at, {one.label, 0, 0, 0});
      }
      at->fp32 += one.fp32;
      at->int8 += one.int8;
      at->both += one.both;
    }
  }
  write_intervals(samples, agreement, most_class_counts);
  return *agreement.mask;
}

TEST(KeptCounts, PixelsOfOneImageCountTogether) {
  std::vector<AnswerCounts> images;
  for (int i = 0; i < 10; ++i) images.push_back(two_classes(1000, i % 2 == 0 ? 0 : 400));
  const MaskAgreement mask = mask_of(images);
  const Interval equal = mask.equal_interval.value();
  EXPECT_LT(equal.low, 0.72);
  EXPECT_GT(equal.high, 0.88);
  EXPECT_GT(wilson_interval(8000, 10000).value().low, 0.79);
  const Interval iou = mask.mean_iou_interval.value();
  EXPECT_LT(iou.low, 0.58);
  EXPECT_GT(iou.high, 0.76);
}

TEST(KeptCounts, PixelsThatAreAllEqualMayDifferInOtherImages) {
  const MaskAgreement mask = mask_of(std::vector<AnswerCounts>(6, two_classes(50, 0)));
  EXPECT_EQ(mask.equal_interval, wilson_interval(300, 300));
  EXPECT_EQ(mask.mean_iou_interval, (Interval{1.0, 1.0}));
}

// Two images with nearly the same figures are no sign that all others have them.
TEST(KeptCounts, TheMasksOfAFewImagesHaveNoInterval) {
  for (const std::size_t images : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
    const MaskAgreement mask = mask_of(std::vector<AnswerCounts>(images, two_classes(1000, 100)));
    EXPECT_FALSE(mask.equal_interval.has_value()) << images;
    EXPECT_FALSE(mask.mean_iou_interval.has_value()) << images;
    EXPECT_FALSE(mask.too_many_counts) << images;
  }
}

// Ten images have two classes each.
TEST(KeptCounts, TooManyClassesHaveNoInterval) {
  const std::vector<AnswerCounts> images(10, two_classes(1000, 100));
  EXPECT_TRUE(mask_of(images, 20).mean_iou_interval.has_value());
  const MaskAgreement mask = mask_of(images, 19);
  EXPECT_FALSE(mask.mean_iou_interval.has_value());
  EXPECT_TRUE(mask.too_many_counts);
  EXPECT_EQ(mask.equal_interval, mask_of(images, 20).equal_interval);
}

// Each class but the first is in one image only, and worse than the first one. All draws have fewer
// of them, so that the means of most draws are above the figure.
TEST(KeptCounts, TheIntervalHoldsTheMeanIou) {
  std::vector<AnswerCounts> images(10);
  for (std::int64_t i = 0; i < 10; ++i) {
    MaskAgreement& mask = images[static_cast<std::size_t>(i)].mask.emplace();
    mask.classes.push_back({0, 100, 100, 100});
    for (std::int64_t k = 0; k < 10; ++k) mask.classes.push_back({1 + 10 * i + k, 10, 5, 5});
    mask.pixels = 200;
    mask.equal = 150;
  }
  const MaskAgreement mask = mask_of(images);
  EXPECT_LE(mask.mean_iou_interval.value().low, mask.mean_iou().value());
  EXPECT_GT(mask.mean_iou_interval.value().high, mask.mean_iou().value());
}

// An image of 1000 pixels whose classes are lost to the next one in shares that vary from image to
// image. The means of its pixels are kPixels; class 2 is in every second image, the classes from 3
// on are in every fourth one.
constexpr std::array<double, 5> kPixels{400.0, 450.0, 100.0, 25.0, 25.0};
constexpr std::array<double, 5> kKept{0.9, 0.8, 0.6, 0.7, 0.5};

AnswerCounts random_image(std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> first(300, 500);
  std::uniform_int_distribution<int> quarter(0, 3);
  std::array<std::int64_t, 5> fp32{first(random), 0, quarter(random) < 2 ? 200 : 0,
                                   quarter(random) == 0 ? 100 : 0, quarter(random) == 0 ? 100 : 0};
  fp32[1] = 1000 - fp32[0] - fp32[2] - fp32[3] - fp32[4];
  std::array<std::int64_t, 5> both{};
  for (std::size_t k = 0; k < 5; ++k) {
    std::gamma_distribution<double> good(8.0 * kKept[k], 1.0);
    std::gamma_distribution<double> bad(8.0 * (1.0 - kKept[k]), 1.0);
    const double g = good(random);
    both[k] = std::binomial_distribution<std::int64_t>(fp32[k], g / (g + bad(random)))(random);
  }
  AnswerCounts counts;
  MaskAgreement& mask = counts.mask.emplace();
  mask.pixels = 1000;
  for (std::size_t k = 0; k < 5; ++k) {
    const std::size_t from = (k + 4) % 5;
    const std::int64_t int8 = both[k] + fp32[from] - both[from];
    mask.equal += both[k];
    if (fp32[k] + int8 > 0) {
      mask.classes.push_back({static_cast<std::int64_t>(k), fp32[k], int8, both[k]});
    }
  }
  return counts;
}

// 400 simulated sets, as in the tests of other intervals. With 10 images only, some sets lack a
// rare class, about which they can say nothing: then the mean IoU is held a little less often.
TEST(KeptCounts, TheIntervalsOfMasksHoldTheTrueFigures) {
  double equal = 0.0;
  double mean_iou = 0.0;
  for (std::size_t k = 0; k < 5; ++k) {
    const std::size_t from = (k + 4) % 5;
    const double both = kKept[k] * kPixels[k];
    equal += both / 1000.0;
    mean_iou += both / (kPixels[k] + (1.0 - kKept[from]) * kPixels[from]) / 5.0;
  }
  constexpr int kMaskSets = 400;
  // The fewest that have an interval, and many more.
  for (const int count : {static_cast<int>(kLeastBootstrapSamples), 20}) {
    std::mt19937_64 random(11);
    int equal_held = 0;
    int iou_held = 0;
    for (int set = 0; set < kMaskSets; ++set) {
      std::vector<AnswerCounts> images;
      for (int i = 0; i < count; ++i) images.push_back(random_image(random));
      const MaskAgreement mask = mask_of(images);
      const Interval shares = mask.equal_interval.value();
      const Interval ious = mask.mean_iou_interval.value();
      equal_held += shares.low <= equal && equal <= shares.high ? 1 : 0;
      iou_held += ious.low <= mean_iou && mean_iou <= ious.high ? 1 : 0;
    }
    EXPECT_GE(equal_held, 0.91 * kMaskSets) << count;
    EXPECT_GE(iou_held, 0.91 * kMaskSets) << count;
    EXPECT_LE(equal_held, 0.99 * kMaskSets) << count;
    EXPECT_LE(iou_held, 0.99 * kMaskSets) << count;
  }
}

}  // namespace
}  // namespace qtool
