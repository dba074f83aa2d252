// A program for runner_test.sh, with every possible outcome of a GoogleTest case.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace {

TEST(Sound, Passes) {}
TEST(Sound, EndsItsOutputWithoutALineBreak) { std::cout << "[ words ] and no line break"; }
TEST(Sound, IsSkipped) { GTEST_SKIP() << "no <moon> & no \"sun\""; }

class Numbers : public testing::TestWithParam<int> {};
TEST_P(Numbers, AreSmall) { EXPECT_LT(GetParam(), 10); }
INSTANTIATE_TEST_SUITE_P(Few, Numbers, testing::Values(1, 2, 30));

TEST(Absent, IsSkipped) { GTEST_SKIP() << "no data"; }

TEST(Crashing, Passes) {}
TEST(Crashing, EndsTheProgram) { std::abort(); }
TEST(Crashing, IsNotReached) {}

TEST(Hanging, Passes) {}
TEST(Hanging, NeverEnds) {
  for (;;) pause();
}

// Sanitizers end the process like this when they find a fault at the end.
TEST(Leaving, FailsAfterItsCases) {
  std::atexit([] { _exit(3); });
}

}  // namespace
