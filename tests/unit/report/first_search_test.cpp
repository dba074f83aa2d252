#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyze/accuracy_limits.h"
#include "report/first_model.h"
#include "unit/first_models.h"

namespace qtool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SearchGoal, IsThatOfTheAdviceWhereItNeedsNoClasses) {
  const Advice advice = advice_on(without_classes(19.9));
  EXPECT_EQ(search_goal(advice, false), advice.goal);
  EXPECT_TRUE(search_goal(advice_on(good_model()), false).empty());
}

// The text says what the model was before, what was found, and the next step after a search.
TEST(FirstModelText, SaysWhatASearchFound) {
  FirstModel made = without_classes(18.0);
  EXPECT_THAT(text_of(made, advice_on(made), {}), HasSubstr("Begin again, with a search of"));
  made.searched = FirstSearch{"output 'b' has 12 dB", {}};
  SearchResult& result = made.searched->result;
  result.goals = {{SearchGoal::Kind::kSqnr, 20.0}};
  result.seconds = 61.0;
  EXPECT_THAT(text_of(made, advice_on(made), {}),
              AllOf(HasSubstr("before the search: output 'b' has 12 dB\n"
                              "searched 61 s for 20 dB or more: found nothing better\n"),
                    HasSubstr("the goal of the search: not reached on its own 0 images, none were "
                              "held back\n"),
                    HasSubstr("nothing left to try")));
  result.best.exclude = {"conv1"};
  result.best.sqnr_db = 18.0;
  result.end = SearchEnd::kBudget;
  const Advice advice = advice_on(made);
  EXPECT_THAT(text_of(made, advice, {}),
              AllOf(HasSubstr("for 20 dB or more: 18.00 dB"), HasSubstr("1 node in FP32\n"),
                    HasSubstr("The time of the search was used up")));
  EXPECT_THAT(json_of(made, advice, {}), HasSubstr("\"before\": \"output 'b' has 12 dB\""));
}

// A search that reached its goal on its own images has something left to try: a stricter goal, or
// other images.
TEST(FirstModelText, SaysWhereASearchReachedItsGoal) {
  FirstModel made = without_classes(18.0);
  made.searched = FirstSearch{"output 'b' has 12 dB", {}};
  SearchResult& result = made.searched->result;
  result.goals = {{SearchGoal::Kind::kSqnr, 20.0}};
  result.reached = true;
  result.best.images = 67;
  result.held_back = 33;
  const auto text = [&] { return text_of(made, advice_on(made), {}); };
  EXPECT_THAT(text(), AllOf(HasSubstr("the goal of the search: reached on its own 67 images, not "
                                      "judged on 33 held back\n"),
                            HasSubstr("do not show what is lost here. Begin again with more"),
                            testing::Not(HasSubstr("nothing left to try"))));
  result.best.exclude = {"conv1"};
  result.end = SearchEnd::kBudget;
  result.held_out.emplace().best.images = 33;
  result.held_out->verdict = GoalVerdict::kMissed;
  EXPECT_THAT(text(), AllOf(HasSubstr("reached on its own 67 images, missed on 33 held back\n"),
                            HasSubstr("on its own images, but not here. Search for half the noise"),
                            testing::Not(HasSubstr("was used up"))));
  const auto json = nlohmann::json::parse(json_of(made, advice_on(made), {}));
  EXPECT_EQ(json["search"]["reached"], true);
  EXPECT_EQ(json["search"]["held_out"]["verdict"], "missed");
  result.held_out->verdict = GoalVerdict::kUndecided;
  EXPECT_THAT(text(), HasSubstr("not decided on 33 held back\n"));
  result.held_out->verdict = GoalVerdict::kReached;
  EXPECT_THAT(text(), HasSubstr("67 images, reached on 33 held back\n"));
}

TEST(FirstModelText, SaysWhyASearchWasNotUsed) {
  FirstModel made = without_classes(19.9);
  const auto text = [&] { return text_of(made, advice_on(made), {}); };
  made.functions_left = 52;
  EXPECT_THAT(text(), testing::Not(HasSubstr("--search was not used")));
  made.asked_to_search = true;
  EXPECT_FALSE(calls_for_search(advice_on(made)));
  EXPECT_THAT(text(), HasSubstr("\n--search was not used: target qtool comes first, and may be "
                                "enough; with --target cpu the search begins at once\nfiles:"));
  const auto json = nlohmann::json::parse(json_of(made, advice_on(made), {}));
  EXPECT_THAT(json["search_unused"].get<std::string>(), HasSubstr("target qtool comes first"));
  made.functions_left = 0;  // the search failed or was stopped, which is said elsewhere
  EXPECT_TRUE(calls_for_search(advice_on(made)));
  EXPECT_THAT(text(), testing::Not(HasSubstr("--search was not used")));
  made.calibrated_on = 2;
  EXPECT_THAT(text(), HasSubstr("--search was not used: without the next step"));
  made = good_model();
  made.asked_to_search = true;
  EXPECT_THAT(text(), HasSubstr("--search was not used: no figure is below its limit\n"));
  made.compared.images = 20;
  made.compared.agreement = 20;
  EXPECT_THAT(text(), HasSubstr("--search was not used: the figure reaches its limit"));
  made.compared.agreement = 18;  // 90 %, of which the interval reaches the limit
  EXPECT_TRUE(calls_for_search(advice_on(made)));
}

}  // namespace
}  // namespace qtool
