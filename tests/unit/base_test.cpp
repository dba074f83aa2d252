// Text, files and parallel loops.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/base/file.h"
#include "qtool/base/parallel.h"
#include "qtool/base/progress.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

TEST(Text, RoundTripsNumbersInTheFewestDigits) {
  EXPECT_EQ(to_text(0.1F), "0.1");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(parse_float(to_text(1.0F / 3.0F), "x"), 1.0F / 3.0F);
  EXPECT_EQ(to_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(to_fixed(2.5, 3), "2.500");
  EXPECT_EQ(to_hex(0xabcdef), "0000000000abcdef");
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

TEST(Text, FindsTheNearestNames) {
  const std::vector<std::string> names{"conv1", "conv2", "relu", "pool"};
  EXPECT_EQ(nearest_names("conv3", names, 2), (std::vector<std::string>{"conv1", "conv2"}));
  EXPECT_EQ(nearest_names("x", {}, 3).size(), 0U);
  EXPECT_EQ(nearest_text("con", std::vector<std::string>{"conv", "relu"}),
            "; nearest: 'conv', 'relu'");
  EXPECT_EQ(nearest_text("x", {}), "");
}

TEST(Text, MatchesPatterns) {
  EXPECT_TRUE(matches_pattern("layer1/conv", "layer?/*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("aXbXc", "a*X?"));
  EXPECT_FALSE(matches_pattern("head", "he"));
  EXPECT_FALSE(matches_pattern(std::string(5000, 'a'), "*a*a*a*a*b"));
}

class Files : public ::testing::Test {
 protected:
  Files() : folder_(fs::temp_directory_path() / concat("qtool_files_test.", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "inner");
  }
  ~Files() override { fs::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  const fs::path folder_;
};

TEST_F(Files, AreReplacedAsAWhole) {
  const fs::path path = folder_ / "table.json";
  write_file(path, "old");
  write_file(path, "new and longer");
  EXPECT_EQ(read_file(path, 100), "new and longer");
  // Nothing temporary is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(Files, KeepTheOldContentWhenWritingFails) {
  EXPECT_THROW(write_file(folder_ / "absent" / "x", "y"), Error);
  EXPECT_THROW(write_file(folder_, "y"), Error);
  EXPECT_THROW(read_file(folder_, 10), Error);
  EXPECT_THROW(read_file(folder_ / "nothing", 10), Error);
  write_file(folder_ / "x", "12345");
  EXPECT_THROW(read_file(folder_ / "x", 4), Error);
}

TEST_F(Files, SayBeforehandThatTheyCannotBeWritten) {
  EXPECT_THROW(require_writable(folder_), Error);
  EXPECT_THROW(require_writable(folder_ / "absent" / "x"), Error);
  EXPECT_NO_THROW(require_writable(folder_ / "x"));
  EXPECT_NO_THROW(require_writable("beside_the_program"));
  EXPECT_NO_THROW(require_writable("/dev/null"));
  EXPECT_FALSE(fs::exists(folder_ / "x"));
  write_file(folder_ / "x", "1");
  EXPECT_NO_THROW(require_writable(folder_ / "x"));
  EXPECT_EQ(read_file(folder_ / "x", 1), "1");
}

TEST_F(Files, StayInsideTheirFolder) {
  write_file(folder_ / "inner" / "w.bin", "w");
  EXPECT_EQ(resolve_inside(folder_, "inner/w.bin").filename(), "w.bin");
  EXPECT_NO_THROW(resolve_inside(folder_, "inner/../inner/w.bin"));
  EXPECT_THROW(resolve_inside(folder_ / "inner", "../secret"), Error);
  EXPECT_THROW(resolve_inside(folder_, "/etc/passwd"), Error);
  EXPECT_THROW(resolve_inside(folder_, ""), Error);
  EXPECT_THROW(resolve_inside(folder_, std::string("inner/w.bin\0", 12)), Error);
  fs::create_directory_symlink("/etc", folder_ / "out");
  EXPECT_THROW(resolve_inside(folder_, "out/passwd"), Error);
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
    // The other worker would need minutes for the rest, however late it learns of the exception.
    if (thrown) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_THROW(parallel_items(100000, 2, body), Error);
  EXPECT_LT(started, 100000);
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
