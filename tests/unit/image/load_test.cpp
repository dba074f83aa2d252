#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;

class LoadPreprocessed : public testing::Test {
 protected:
  LoadPreprocessed() {
    fs::create_directories(root_);
    write_file(good_.path, "P6 2 1 255\nabcdef");
    write_file(broken_.path, "nothing");
  }
  ~LoadPreprocessed() override { fs::remove_all(root_); }

  const fs::path root_ = fs::path(testing::TempDir()) / to_text("qtool_image_load_", ::getpid());
  const ImageEntry good_{root_ / "good.ppm"};
  const ImageEntry broken_{root_ / "broken.ppm"};
  const ImageEntry missing_{root_ / "missing.ppm"};
};

TEST_F(LoadPreprocessed, DecodesAndPreprocesses) {
  std::vector<BadImage> bad;
  const std::optional<Tensor> image = load_preprocessed(good_, {}, BadImages::kFail, bad);
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->shape(), Shape({1, 3, 1, 2}));
  EXPECT_THAT(image->values<float>(), ElementsAre('a', 'd', 'b', 'e', 'c', 'f'));
  EXPECT_TRUE(bad.empty());
}

TEST_F(LoadPreprocessed, NamesWhatItLeavesOut) {
  std::vector<BadImage> bad;
  Preprocess crop;
  crop.crop_width = crop.crop_height = 2;
  EXPECT_FALSE(load_preprocessed(missing_, {}, BadImages::kSkip, bad).has_value());
  EXPECT_FALSE(load_preprocessed(broken_, {}, BadImages::kSkip, bad).has_value());
  EXPECT_FALSE(load_preprocessed(good_, crop, BadImages::kSkip, bad).has_value());
  ASSERT_EQ(bad.size(), 3U);
  EXPECT_EQ(bad[0].path, missing_.path);
  EXPECT_THAT(bad[0].reason, HasSubstr("missing.ppm"));
  EXPECT_THAT(bad[1].reason, HasSubstr("broken.ppm"));
  EXPECT_THAT(bad[2].reason, HasSubstr("good.ppm"));
  EXPECT_THAT(bad[2].reason, HasSubstr("smaller than the crop"));
}

TEST_F(LoadPreprocessed, StopsAtABadFileWhenAsked) {
  std::vector<BadImage> bad;
  EXPECT_THROW(static_cast<void>(load_preprocessed(broken_, {}, BadImages::kFail, bad)), Error);
  EXPECT_TRUE(bad.empty());
}

TEST_F(LoadPreprocessed, BlamesNoFileForAWrongOption) {
  std::vector<BadImage> bad;
  Preprocess nonsense;
  nonsense.std = {0.0F};
  EXPECT_THROW(static_cast<void>(load_preprocessed(good_, nonsense, BadImages::kSkip, bad)), Error);
  EXPECT_TRUE(bad.empty());
}

}  // namespace
}  // namespace qtool
