// Text and parallel loops.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/choices.h"
#include "base/did_you_mean.h"
#include "base/name_pattern.h"
#include "base/parallel.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/base/progress.h"

namespace qtool {
namespace {

TEST(Text, RoundTripsNumbersInTheFewestDigits) {
  EXPECT_EQ(to_text(0.1F), "0.1");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(parse_float(to_text(1.0F / 3.0F), "x"), 1.0F / 3.0F);
  EXPECT_EQ(to_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(to_fixed(2.5, 3), "2.500");
  EXPECT_EQ(to_hex(0xabcdef), "0000000000abcdef");
}

TEST(Text, PutsOnlyATextInBrackets) {
  EXPECT_EQ(in_brackets("1 to 2"), " (1 to 2)");
  EXPECT_EQ(in_brackets(""), "");
}

TEST(Text, RefusesWhatIsNotANumber) {
  for (const char* text : {"", "1x", "0x10", "1,5", "one"}) {
    EXPECT_THROW(parse_double(text, "x"), Error) << text;
    EXPECT_THROW(parse_int(text, "x"), Error) << text;
  }
  EXPECT_EQ(parse_int(" 42 ", "x"), 42);
}

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(to_lower("JPeG"), "jpeg");
}

TEST(NearestName, IsFoundAndSuggested) {
  const std::vector<std::string> names{"conv1", "conv2", "relu", "pool"};
  EXPECT_EQ(nearest_names("conv3", names, 2), (std::vector<std::string>{"conv1", "conv2"}));
  EXPECT_EQ(nearest_names("x", {}, 3).size(), 0U);
  EXPECT_EQ(did_you_mean("con", std::vector<std::string>{"conv", "relu"}),
            "; did you mean 'conv'?");
  EXPECT_EQ(did_you_mean("CONV1", names), "; did you mean 'conv1' or 'conv2'?");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(NearestName, NothingFarIsSuggested) {
  const std::vector<std::string> names{"conv1", "relu", "fc"};
  EXPECT_EQ(did_you_mean("nothing", names), "");
  EXPECT_EQ(did_you_mean("c", names), "");
  EXPECT_EQ(did_you_mean("conv1/output", names), "; did you mean 'conv1'?");
}

TEST(Choices, ShortListsAreShownWhenNothingIsNear) {
  const std::vector<std::string> names{"cpu", "qtool", "tensorrt"};
  EXPECT_EQ(alternatives(names), "cpu, qtool or tensorrt");
  EXPECT_EQ(expected_text("tensort", names), "; did you mean 'tensorrt'?");
  EXPECT_EQ(expected_text("vulkan", names), "; expected cpu, qtool or tensorrt");
}

TEST(Choices, FindARowByItsName) {
  struct Row {
    std::string_view name;
  };
  const std::vector<Row> rows = {{"cpu"}, {"qtool"}};
  EXPECT_EQ(&find_by_name(rows, "qtool", "target"), &rows[1]);
  try {
    static_cast<void>(find_by_name(rows, "qtol", "target"));
    ADD_FAILURE() << "'qtol' was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_STREQ(error.what(), "target 'qtol' is unknown; did you mean 'qtool'?");
  }
}

TEST(NamePattern, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_pattern("layer1/conv", "layer?/*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("aXbXc", "a*X?"));
  EXPECT_FALSE(matches_pattern("head", "he"));
  EXPECT_FALSE(matches_pattern(std::string(5000, 'a'), "*a*a*a*a*b"));
}

TEST(Parallel, CoversEveryItemOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::int64_t count : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      parallel_items(count, threads, [&](std::int64_t i, int worker) {
        EXPECT_LT(worker, threads);
        ++seen[static_cast<std::size_t>(i)];
      });
      parallel_ranges(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 2);
    }
  }
}

TEST(Parallel, HandsExceptionsToTheCallerAndStops) {
  std::atomic<std::int64_t> started{0};
  std::atomic<bool> thrown{false};
  const auto body = [&](std::int64_t i, int) {
    ++started;
    if (i == 100) {
      thrown = true;
      throw Error(ErrorCode::kCancelled, "enough");
    }
    // The other worker would need minutes for the remaining items, so it stops before their end
    // even if it learns of the exception late.
    if (thrown) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_THROW(parallel_items(100000, 2, body), Error);
  EXPECT_LT(started, 100000);
}

TEST(Parallel, RethrowsTheErrorOfTheLowestItem) {
  for (int round = 0; round < 20; ++round) {
    try {
      parallel_items(64, 4, [](std::int64_t item, int) {
        if (item < 3) return;
        // The failure of the lowest item comes last.
        if (item == 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        throw Error(ErrorCode::kIo, to_text("item ", item));
      });
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "item 3");
    }
  }
}

TEST(Parallel, RunsInPlaceInsideAWorker) {
  std::atomic<int> inner{0};
  parallel_items(4, 2, [&](std::int64_t, int) {
    parallel_ranges(10, 2, [&](std::int64_t begin, std::int64_t end, int worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(end - begin, 10);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 4);
}

TEST(Parallel, ChecksTheNumberOfThreads) {
  EXPECT_GE(resolve_threads(0), 1);
  EXPECT_EQ(resolve_threads(3), 3);
  EXPECT_THROW(resolve_threads(-1), Error);
  EXPECT_THROW(resolve_threads(1000000), Error);
}

TEST(FlushDenormals, LastsAsLongAsTheObject) {
  volatile float tiny = std::numeric_limits<float>::min();
  {
    const FlushDenormals flush;
    EXPECT_EQ(tiny / 2.0F, 0.0F);
  }
  EXPECT_GT(tiny / 2.0F, 0.0F);
}

}  // namespace
}  // namespace qtool
