#include "search/search_budget.h"

#include <gtest/gtest.h>

namespace qtool {
namespace {

// Models that take minutes to make were begun as long as any time was left: 1,500 s of 600.
TEST(SearchBudget, BeginsNoModelThatWouldEndTooLate) {
  SearchBudget budget(100.0);
  budget.expect(20.0);
  EXPECT_EQ(budget.affordable(6), 4U);  // 90 s are for models
  EXPECT_EQ(budget.affordable(3), 3U);
  budget.took(600.0, 6);
  EXPECT_EQ(budget.affordable(6), 0U);
  budget.took(0.001, 0);  // no model was made: nothing is learnt
  EXPECT_EQ(budget.affordable(6), 0U);
  budget.took(30.0, 2);
  EXPECT_EQ(budget.affordable(6), 5U);
}

TEST(SearchBudget, KeepsTimeForTheLastPart) {
  SearchBudget budget(100.0);
  budget.expect(10.0);
  budget.set_last_part(35.0);
  EXPECT_EQ(budget.affordable(9), 6U);
  budget.set_last_part(1.0);  // a tenth at least
  EXPECT_EQ(budget.affordable(9), 8U);
  budget.set_last_part(1e6);  // half at most
  EXPECT_EQ(budget.affordable(9), 4U);
  EXPECT_FALSE(budget.is_over());
  EXPECT_TRUE(SearchBudget(0.0).is_over());
}

}  // namespace
}  // namespace qtool
