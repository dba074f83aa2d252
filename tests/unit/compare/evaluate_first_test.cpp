#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BatchOfCopies, HasTheSampleInEveryPlace) {
  std::vector<Tensor> sample;
  sample.push_back(Tensor::of<float>({1, 2}, {1.0F, 2.0F}));
  sample.push_back(Tensor::of<std::int64_t>({1}, {7}));
  const std::vector<Tensor> batch = batch_of_copies(std::move(sample), 3);
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(batch[0].values<float>(), ElementsAre(1.0F, 2.0F, 1.0F, 2.0F, 1.0F, 2.0F));
  EXPECT_THAT(batch[1].values<std::int64_t>(), ElementsAre(7, 7, 7));
}

TEST(BatchOfCopies, NeedsOneSampleInFront) {
  std::vector<Tensor> two;
  two.push_back(Tensor::of<float>({2}, {1.0F, 2.0F}));
  two = batch_of_copies(std::move(two), 1);
  EXPECT_EQ(two.front().shape(), (Shape{2}));
  try {
    batch_of_copies(std::move(two), 4);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("expected 1 in front to run 4 at once; use batch 1"));
  }
}

}  // namespace
}  // namespace qtool
