#include "analyze/set_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "report/set_check.h"
#include "support/image_folder.h"
#include "support/places.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kCheckedSide = 8;

class SetCheckTest : public testing::Test {
 protected:
  SetCheckTest() {
    Net net;
    net.input("image", {1, 3, kCheckedSide, kCheckedSide});
    net.output(net.op("Relu", "last", {net.conv("second", net.conv("first", "image", 3), 3)}));
    executor_.emplace(prepare(net.graph));
  }

  // Adds an image of random bytes from the middle quarter of their range.
  void add_dim(const ImageFolder& folder, const std::string& name, unsigned seed) {
    std::mt19937 random(seed);
    std::string bytes = to_text("P6\n", kCheckedSide, " ", kCheckedSide, "\n255\n");
    for (std::int64_t i = 0; i < kCheckedSide * kCheckedSide * 3; ++i) {
      bytes.push_back(static_cast<char>(96 + random() % 64));
    }
    write_file(folder.path() / name, bytes);
  }

  [[nodiscard]] SetCheck check(const Samples& samples, int threads = 1) const {
    CalibrateOptions options;
    options.method = "minmax";
    options.collect.preprocess.mean = {127.5F};
    options.collect.preprocess.std = {64.0F};
    options.collect.threads = threads;
    const Calibration calibration(*executor_, options);
    return check_set(calibration, calibration_target(options), samples);
  }

  std::optional<Executor> executor_;
};

TEST_F(SetCheckTest, NamesWhatStandsOut) {
  ImageFolder folder(kCheckedSide, 0);
  for (unsigned i = 0; i < 9; ++i) add_dim(folder, to_text("dim_", i, ".ppm"), i);
  folder.add("wild.ppm", 77);  // its range is four times as wide
  const Samples samples(folder.list());
  const SetCheck found = check(samples);
  EXPECT_EQ(found.samples, 10);
  ASSERT_EQ(found.setters.size(), 1U);
  EXPECT_EQ(samples.path(found.setters[0].sample).filename(), "wild.ppm");
  EXPECT_EQ(found.setters[0].tensors, static_cast<std::int64_t>(found.moves.size()));
  EXPECT_GT(found.setters[0].widening, 2.0);
  EXPECT_FALSE(found.is_enough());
  EXPECT_EQ(found.moved(), static_cast<std::int64_t>(found.moves.size()));
  const std::string text = text_of(found, samples, 200);
  EXPECT_THAT(text, testing::HasSubstr("enough images: no"));
  EXPECT_THAT(text, testing::HasSubstr("wild.ppm"));
  EXPECT_THAT(json_of(found, samples), testing::HasSubstr("\"enough\": false"));
}

TEST_F(SetCheckTest, FindsManyOfOneKindEnough) {
  ImageFolder folder(kCheckedSide, 64);
  const Samples samples(folder.list());
  const SetCheck found = check(samples);
  EXPECT_TRUE(found.is_enough());
  EXPECT_LE(found.expected_loss_db(0.95), kMaxTailLossDb);
  const SetCheck again = check(samples, 3);
  ASSERT_EQ(again.moves.size(), found.moves.size());
  for (std::size_t i = 0; i < found.moves.size(); ++i) {
    EXPECT_EQ(again.moves[i].tensor, found.moves[i].tensor);
    EXPECT_EQ(again.moves[i].loss_db, found.moves[i].loss_db);
  }
}

// If both halves hold the same images, neither half loses anything with the ranges of the other.
TEST_F(SetCheckTest, LosesNothingBetweenEqualHalves) {
  ImageFolder folder(kCheckedSide, 0);
  for (unsigned i = 0; i < 6; ++i) {
    for (const char* copy : {"a", "b"}) folder.add(to_text(i, copy, ".ppm"), static_cast<int>(i));
  }
  const SetCheck found = check(Samples(folder.list()));
  EXPECT_EQ(found.moved(), 0);
  EXPECT_EQ(found.loss_db(1.0), 0.0);
}

// The example network and its images. One of the images occurs twice.
TEST(SetCheckOfSigns, FindsACopyAmongImagesThatAreAlike) {
  const std::filesystem::path data = std::filesystem::path(kSourceFolder) / "data";
  const ImageFolder folder(kCheckedSide, 0);
  const ImageSet all = list_images(data / "calib", {}, 24);
  for (std::size_t i = 0; i < all.entries.size(); ++i) {
    std::filesystem::copy_file(all.entries[i].path, folder.path() / to_text("sign_", i, ".jpg"));
  }
  std::filesystem::copy_file(all.entries[5].path, folder.path() / "again.jpg");
  const Executor executor(prepare(load_onnx(data / "signs_resnet.onnx")));
  CalibrateOptions options;
  options.collect.preprocess = preprocess_from_json(read_file(data / "preprocess.json", 1 << 16));
  const Samples samples(folder.list());
  const SetCheck found =
      check_set(Calibration(executor, options), calibration_target(options), samples);
  ASSERT_EQ(found.twins.size(), 1U);
  EXPECT_EQ(found.twins[0].distance, 0.0);
  EXPECT_EQ(samples.path(found.twins[0].first).filename(), "again.jpg");
  EXPECT_EQ(samples.path(found.twins[0].second).filename(), "sign_5.jpg");
}

/// The messages for a folder that holds several copies of a few images. The parameter is the number
/// of images and the number of copies of each.
class SetCheckOfCopies : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

// The message about copies must come first, because halves with the same images agree even if there
// are few images.
TEST_P(SetCheckOfCopies, SaysSoFirst) {
  const auto [images, copies] = GetParam();
  const std::filesystem::path data = std::filesystem::path(kSourceFolder) / "data";
  const ImageFolder folder(kCheckedSide, 0);
  const ImageSet all = list_images(data / "calib", {}, static_cast<std::int64_t>(images));
  for (std::size_t i = 0; i < images * copies; ++i) {
    std::filesystem::copy_file(all.entries[i % images].path,
                               folder.path() / to_text("sign_", 100 + i, ".jpg"));
  }
  const Executor executor(prepare(load_onnx(data / "signs_resnet.onnx")));
  CalibrateOptions options;
  options.collect.preprocess = preprocess_from_json(read_file(data / "preprocess.json", 1 << 16));
  const Samples samples(folder.list());
  const SetCheck found =
      check_set(Calibration(executor, options), calibration_target(options), samples);
  EXPECT_EQ(found.distinct, static_cast<std::int64_t>(images));
  EXPECT_TRUE(found.is_full_of_copies());
  EXPECT_FALSE(found.is_enough());
  EXPECT_THAT(text_of(found, samples, 200),
              testing::StartsWith(
                  to_text("only ", images, " of ", images * copies, " images are different")));
  EXPECT_THAT(json_of(found, samples), testing::HasSubstr("\"full_of_copies\": true"));
}

INSTANTIATE_TEST_SUITE_P(Folders, SetCheckOfCopies,
                         testing::Values(std::pair{1U, 8U}, std::pair{6U, 2U}, std::pair{3U, 5U}));

TEST_F(SetCheckTest, RefusesTooFew) {
  const ImageFolder folder(kCheckedSide, 3);
  try {
    static_cast<void>(check(Samples(folder.list())));
    FAIL() << "three images were accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("found 3 images, expected at least 4"));
  }
}

}  // namespace
}  // namespace qtool
