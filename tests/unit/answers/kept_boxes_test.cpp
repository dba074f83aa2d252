#include "answers/kept_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "answers/box_decoder.h"
#include "answers/suppress_boxes.h"

namespace qtool {
namespace {

using testing::ElementsAre;

Detector yolo_detector(std::vector<double> thresholds) {
  Detector detector = find_detector("yolov5");
  detector.thresholds = std::move(thresholds);
  return detector;
}

Box shifted(float x, float score, std::int64_t label = 0) {
  return {x, 0, x + 10, 10, label, score};
}

TEST(MatchBoxes, TakesTheNearestThatIsFree) {
  const std::vector<Box> fp32{shifted(0, 0.9F), shifted(3, 0.8F), shifted(0, 0.7F, 1)};
  // The box at 2 is nearest to FP32's box at 3 (IoU 9/11). The box at 3 is nearest to it too, but
  // it is taken; so it gets the box at 0 (IoU 7/13).
  EXPECT_THAT(match_boxes(fp32, std::vector{shifted(2, 0.9F), shifted(3, 0.8F)}, 0.5),
              ElementsAre(1, 0));
  EXPECT_THAT(match_boxes(fp32, std::vector{shifted(2, 0.9F), shifted(3, 0.8F)}, 0.7),
              ElementsAre(1, -1));
  EXPECT_THAT(match_boxes(fp32, std::vector{shifted(0, 0.9F, 2)}, 0.5), ElementsAre(-1));
  EXPECT_THAT(match_boxes(fp32, std::vector{shifted(3, 0.9F)}, 0.5, 0.85), ElementsAre(0));
}

TEST(KeptBoxScorer, CountsKeptAndAddedBoxes) {
  KeptBoxScorer scorer(yolo_detector({0.3, 0.6}));
  // Image 1: one box is equal, one is moved by a fifth (IoU 2/3), one is lost, and one is added.
  scorer.add(std::vector{shifted(0, 0.9F), shifted(20, 0.8F), shifted(40, 0.5F)},
             std::vector{shifted(22, 0.7F), shifted(0, 0.65F), shifted(60, 0.4F)});
  // Image 2: the INT8 box falls below the threshold.
  scorer.add(std::vector{shifted(0, 0.4F)}, std::vector{shifted(0, 0.2F)});
  const BoxAgreement result = scorer.result();
  EXPECT_EQ(result.images, 2);
  ASSERT_EQ(result.matches.size(), 4U);
  const auto expect = [&](std::size_t i, double score, double iou, int fp32, int int8, int kept) {
    const BoxMatch& match = result.matches[i];
    EXPECT_EQ(match.score, score);
    EXPECT_EQ(match.iou, iou);
    EXPECT_EQ(match.fp32, fp32) << i;
    EXPECT_EQ(match.int8, int8) << i;
    EXPECT_EQ(match.kept, kept) << i;
    EXPECT_EQ(match.added(), int8 - kept) << i;
  };
  expect(0, 0.3, 0.5, 4, 3, 2);
  expect(1, 0.3, 0.7, 4, 3, 1);
  expect(2, 0.6, 0.5, 2, 2, 2);
  expect(3, 0.6, 0.7, 2, 2, 1);
}

// Class 0 has 3 truths, and its ranking is right, wrong, right. So the precision is 1 up to recall
// 1/3, 2/3 up to recall 2/3, and then 0; the average is 5/9. Class 1 has one truth, which is found:
// 1. Class 2 has one truth, which is not found: 0. Class 3 has no truth.
TEST(KeptBoxScorer, AveragePrecisionOfAHandMadeRanking) {
  KeptBoxScorer scorer(yolo_detector({0.3}));
  scorer.add(std::vector{shifted(0, 0.9F), shifted(20, 0.8F), shifted(40, 0.7F),
                         shifted(0, 0.6F, 1), shifted(0, 0.5F, 2)},
             std::vector{shifted(0, 0.9F), shifted(60, 0.8F), shifted(20, 0.1F),
                         shifted(0, 0.5F, 1), shifted(80, 0.5F, 3)});
  const BoxAgreement result = scorer.result();
  ASSERT_TRUE(result.matches[0].mean_average_precision);
  EXPECT_NEAR(*result.matches[0].mean_average_precision, (5.0 / 9.0 + 1.0 + 0.0) / 3.0, 1e-12);
}

// A right and a wrong box have the same score. Neither comes first, so they count together.
TEST(KeptBoxScorer, EqualScoresCountTogether) {
  for (const bool right_first : {false, true}) {
    KeptBoxScorer scorer(yolo_detector({0.3}));
    const std::vector<Box> none;
    const std::vector<Box> right{shifted(0, 0.5F)};
    const std::vector<Box> wrong{shifted(60, 0.5F)};
    scorer.add(right_first ? right : none, right_first ? right : wrong);
    scorer.add(right_first ? none : right, right_first ? wrong : right);
    EXPECT_DOUBLE_EQ(*scorer.result().matches[0].mean_average_precision, 0.5);
  }
}

// One of two truths is found. The other one is found below the lowest rank, which does not count.
TEST(KeptBoxScorer, LeavesOutScoresThatOnlyAnnotationsNeed) {
  KeptBoxScorer scorer(yolo_detector({0.3}));
  scorer.add(std::vector{shifted(0, 0.9F), shifted(20, 0.8F)},
             std::vector{shifted(0, 0.9F), shifted(20, 0.04F)});
  EXPECT_DOUBLE_EQ(*scorer.result().matches[0].mean_average_precision, 0.5);
  KeptBoxScorer all(yolo_detector({0.001}));
  all.add(std::vector{shifted(0, 0.9F)}, std::vector{shifted(0, 0.01F)});
  EXPECT_EQ(all.result().matches[0].kept, 1);
}

TEST(KeptBoxScorer, WithoutAnyBoxThereIsNoPrecision) {
  KeptBoxScorer scorer(yolo_detector({0.3}));
  scorer.add({}, std::vector{shifted(0, 0.9F)});
  EXPECT_FALSE(scorer.result().matches[0].mean_average_precision);
  EXPECT_EQ(scorer.result().matches[0].added(), 1);
}

/// Average precision by its definition: for every recall that is reached, takes the best precision
/// at that recall or a higher one, over all cuts of the ranking between different scores.
double naive_precision(std::vector<std::pair<float, bool>> ranked, int truths) {
  std::ranges::sort(ranked, std::ranges::greater(), &std::pair<float, bool>::first);
  double sum = 0.0;
  for (int found = 1; found <= truths; ++found) {
    double best = 0.0;
    for (const auto& [cut, unused] : ranked) {
      int boxes = 0;
      int hits = 0;
      for (const auto& [score, hit] : ranked) {
        if (score < cut) continue;
        ++boxes;
        if (hit) ++hits;
      }
      if (hits >= found) best = std::max(best, static_cast<double>(hits) / boxes);
    }
    sum += best;
  }
  return sum / truths;
}

TEST(KeptBoxScorer, EqualsTheDefinitionOnRandomBoxesHoweverTheyAreShared) {
  std::mt19937 random(17);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  for (int round = 0; round < 50; ++round) {
    std::vector<KeptBoxScorer> scorers(3, KeptBoxScorer(yolo_detector({0.3})));
    std::map<std::int64_t, std::vector<std::pair<float, bool>>> ranked;
    std::map<std::int64_t, int> truths;
    int kept = 0;
    for (int image = 0; image < 6; ++image) {
      const auto boxes = [&] {
        std::vector<Box> made;
        for (int i = below(8); i > 0; --i) {
          made.push_back(shifted(static_cast<float>(below(40)),
                                 0.1F + 0.05F * static_cast<float>(below(16)), below(3)));
        }
        std::ranges::stable_sort(made, std::ranges::greater(), &Box::score);
        return suppress(made, 0.4);
      };
      const std::vector<Box> fp32 = boxes();
      const std::vector<Box> int8 = boxes();
      scorers[static_cast<std::size_t>(below(3))].add(fp32, int8);
      std::vector<bool> taken(fp32.size(), false);
      for (const Box& box : fp32) {
        if (box.score >= 0.3) ++truths[box.label];
      }
      for (const Box& box : int8) {
        std::size_t best = fp32.size();
        for (std::size_t i = 0; i < fp32.size(); ++i) {
          if (taken[i] || fp32[i].label != box.label || fp32[i].score < 0.3) continue;
          const double iou = intersection_over_union(fp32[i], box);
          if (iou < 0.5) continue;
          if (best == fp32.size() || iou > intersection_over_union(fp32[best], box)) best = i;
        }
        const bool hit = best < fp32.size();
        if (hit) taken[best] = true;
        if (hit && box.score >= 0.3) ++kept;
        ranked[box.label].emplace_back(box.score, hit);
      }
    }
    double expected = 0.0;
    for (const auto& [label, count] : truths) expected += naive_precision(ranked[label], count);
    std::vector<int> order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random);
    KeptBoxScorer sum(yolo_detector({0.3}));
    for (const int i : order) sum += scorers[static_cast<std::size_t>(i)];
    const BoxMatch match = sum.result().matches.front();
    EXPECT_EQ(match.kept, kept);
    if (truths.empty()) continue;
    EXPECT_NEAR(*match.mean_average_precision, expected / static_cast<double>(truths.size()),
                1e-12);
  }
}

}  // namespace
}  // namespace qtool
