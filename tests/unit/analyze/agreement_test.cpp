// One number for the answers of a detector or a mask.
#include "analyze/agreement.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace qtool {
namespace {

TEST(AgreementOf, CountsBoxesLostAndBoxesAdded) {
  const auto boxes = [](std::int64_t fp32, std::int64_t int8, std::int64_t kept) {
    AnswerAgreement answers;
    // The rows ascend by score, then by IoU. Only the second row counts.
    answers.boxes.emplace().matches = {
        {.score = 0.3, .iou = 0.5, .fp32 = 7, .int8 = 7, .kept = 7},
        {.score = 0.3, .iou = 0.7, .fp32 = fp32, .int8 = int8, .kept = kept},
        {.score = 0.5, .iou = 0.5, .fp32 = 9, .int8 = 9, .kept = 9},
        {.score = 0.5, .iou = 0.7, .fp32 = 9, .int8 = 9, .kept = 9}};
    return agreement_of(answers);
  };
  EXPECT_DOUBLE_EQ(boxes(100, 97, 97).value(), 0.97);
  EXPECT_DOUBLE_EQ(boxes(100, 105, 97).value(), 0.92);  // 8 were added
  EXPECT_DOUBLE_EQ(boxes(10, 40, 10).value(), -2.0);
  EXPECT_FALSE(boxes(0, 0, 0).has_value());  // a wrong decoder finds none in either
  EXPECT_EQ(boxes(0, 1, 0).value(), 0.0);
  EXPECT_FALSE(agreement_of({}).has_value());
  AnswerAgreement both;  // the lower agreement counts
  both.mask.emplace().pixels = 100;
  both.mask->equal = 99;
  both.boxes.emplace().matches = {{.score = 0.3, .iou = 0.5, .fp32 = 10, .int8 = 5, .kept = 5}};
  EXPECT_DOUBLE_EQ(agreement_of(both).value(), 0.5);
}

}  // namespace
}  // namespace qtool
