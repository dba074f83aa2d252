#include "qtool/image/image_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/base/file.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

// `count` pictures whose first byte is their index; every seventh is no picture at all.
class ImageLoaderTest : public testing::Test {
 protected:
  static constexpr std::int64_t kCount = 40;

  ImageLoaderTest() {
    fs::create_directories(root_);
    for (std::int64_t i = 0; i < kCount; ++i) {
      const fs::path path = root_ / concat(100 + i, ".ppm");
      std::string bytes = concat("P6 2 1 255\n", static_cast<char>(i), "bcdef");
      if (is_bad(i)) bytes = "nothing";
      write_file(path, bytes);
      set_.entries.push_back({path, 2 * i});
    }
  }
  ~ImageLoaderTest() override { fs::remove_all(root_); }

  static bool is_bad(std::int64_t index) { return index % 7 == 6; }

  const fs::path root_ = fs::path(testing::TempDir()) / concat("qtool_image_loader_", ::getpid());
  ImageSet set_;
};

TEST_F(ImageLoaderTest, DeliversInOrderWhateverTheThreads) {
  for (const int threads : {1, 2, 5}) {
    for (const std::int64_t ahead : {1, 2, 7, 1000}) {
      ImageLoader loader(set_, {}, BadImages::kSkip, threads, ahead);
      std::int64_t expected = 0;
      while (const std::optional<LoadedImage> image = loader.next()) {
        while (is_bad(expected)) ++expected;
        EXPECT_EQ(image->index, expected);
        EXPECT_EQ(image->label, 2 * expected);
        EXPECT_EQ(image->tensor.values<float>()[0], static_cast<float>(expected));
        ++expected;
      }
      EXPECT_EQ(expected, kCount);
      EXPECT_FALSE(loader.next().has_value());
      const std::vector<BadImage> bad = loader.bad();
      ASSERT_EQ(bad.size(), 5U);
      EXPECT_EQ(bad[1].path, set_.entries[13].path);
      EXPECT_THAT(bad[1].reason, HasSubstr(set_.entries[13].path.string()));
    }
  }
}

TEST_F(ImageLoaderTest, SeveralConsumersShareTheList) {
  ImageLoader loader(set_, {}, BadImages::kSkip, 3, 4);
  std::mutex mutex;
  std::vector<std::int64_t> seen;
  {
    std::vector<std::jthread> consumers;
    for (int i = 0; i < 4; ++i) {
      consumers.emplace_back([&] {
        while (const std::optional<LoadedImage> image = loader.next()) {
          const std::lock_guard lock(mutex);
          seen.push_back(image->index);
        }
      });
    }
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (!is_bad(i)) expected.push_back(i);
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(ImageLoaderTest, StrictFailsAtTheFirstBadFileInItsTurn) {
  ImageLoader loader(set_, {}, BadImages::kFail, 4, 30);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(loader.next().has_value());
  for (int again = 0; again < 2; ++again) {
    try {
      static_cast<void>(loader.next());
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidImage);
      EXPECT_THAT(error.what(), HasSubstr("106.ppm"));
    }
  }
}

TEST_F(ImageLoaderTest, MayBeDestroyedBeforeTheEnd) {
  ImageLoader loader(set_, {}, BadImages::kSkip, 4, 8);
  EXPECT_EQ(loader.next()->index, 0);
}

TEST_F(ImageLoaderTest, RefusesNonsense) {
  EXPECT_THROW(ImageLoader(set_, {}, BadImages::kSkip, 1, 0), Error);
  EXPECT_THROW(ImageLoader(set_, {}, BadImages::kSkip, -1, 4), Error);
  Preprocess nonsense;
  nonsense.std = {0.0F};
  EXPECT_THROW(ImageLoader(set_, nonsense, BadImages::kSkip, 1, 4), Error);
}

TEST_F(ImageLoaderTest, AnEmptySetEndsAtOnce) {
  const ImageSet empty;
  ImageLoader loader(empty, {}, BadImages::kSkip, 2, 4);
  EXPECT_FALSE(loader.next().has_value());
}

TEST_F(ImageLoaderTest, LoadPreprocessedNamesMissingAndTooSmallFiles) {
  std::vector<BadImage> bad;
  const ImageEntry missing{root_ / "missing.jpg"};
  EXPECT_FALSE(load_preprocessed(missing, {}, BadImages::kSkip, bad).has_value());
  Preprocess crop;
  crop.crop_width = crop.crop_height = 2;
  EXPECT_FALSE(load_preprocessed(set_.entries[0], crop, BadImages::kSkip, bad).has_value());
  ASSERT_EQ(bad.size(), 2U);
  EXPECT_THAT(bad[0].reason, HasSubstr("missing.jpg"));
  EXPECT_THAT(bad[1].reason, HasSubstr("100.ppm"));
  EXPECT_THAT(bad[1].reason, HasSubstr("smaller than the crop"));
  EXPECT_THROW(static_cast<void>(load_preprocessed(missing, {}, BadImages::kFail, bad)), Error);
}

}  // namespace
}  // namespace qtool
