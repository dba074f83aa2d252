#include "qtool/image/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "qtool/base/error.h"
#include "unit/values_of.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Image make_image(std::int64_t width, std::int64_t height) {
  Image image{width, height, {}};
  for (std::int64_t i = 0; i < width * height * 3; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i * 7 % 256));
  }
  return image;
}

Preprocess sized(ResizeMode mode, std::int64_t width, std::int64_t height) {
  Preprocess preprocess;
  preprocess.resize = mode;
  preprocess.resize_width = width;
  preprocess.resize_height = height;
  return preprocess;
}

std::string preprocess_refusal(const Preprocess& preprocess) {
  try {
    check(preprocess);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(Preprocess, FeedsChannelsInTheOrderAndLayoutAsked) {
  const Image image{2, 1, {1, 2, 3, 4, 5, 6}};
  Preprocess preprocess;
  EXPECT_THAT(values_of(preprocess_image(image, preprocess)), ElementsAre(1, 4, 2, 5, 3, 6));
  preprocess.channels = ChannelOrder::kBgr;
  EXPECT_THAT(values_of(preprocess_image(image, preprocess)), ElementsAre(3, 6, 2, 5, 1, 4));
  preprocess.layout = TensorLayout::kNhwc;
  const Tensor nhwc = preprocess_image(image, preprocess);
  EXPECT_THAT(nhwc.values<float>(), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_EQ(nhwc.shape(), Shape({1, 1, 2, 3}));
  preprocess.channels = ChannelOrder::kGray;
  EXPECT_EQ(preprocess_image(image, preprocess).shape(), Shape({1, 1, 2, 1}));
}

TEST(Preprocess, FeedsAlphaAsTheFourthChannel) {
  const Image image{2, 1, {1, 2, 3, 4, 5, 6}, {7, 8}};
  Preprocess preprocess;
  preprocess.channels = ChannelOrder::kRgba;
  EXPECT_THAT(values_of(preprocess_image(image, preprocess)), ElementsAre(1, 4, 2, 5, 3, 6, 7, 8));
  preprocess.mean = {0, 0, 0, 8};
  preprocess.channels = ChannelOrder::kBgra;
  preprocess.layout = TensorLayout::kNhwc;
  const Tensor nhwc = preprocess_image(image, preprocess);
  EXPECT_THAT(nhwc.values<float>(), ElementsAre(3, 2, 1, -1, 6, 5, 4, 0));
  EXPECT_EQ(nhwc.shape(), Shape({1, 1, 2, 4}));
  const Tensor opaque = preprocess_image({1, 1, {1, 2, 3}}, preprocess);
  EXPECT_THAT(opaque.values<float>(), ElementsAre(3, 2, 1, 247));
  EXPECT_THROW(preprocess_image({2, 1, {1, 2, 3, 4, 5, 6}, {7}}, preprocess), Error);
}

// Each channel is resized independently of the others.
TEST(Preprocess, ResizesAlphaLikeTheOtherChannels) {
  Image image = make_image(13, 9);
  const Image other = make_image(9, 13);
  for (std::size_t i = 0; i < 13 * 9; ++i) image.alpha.push_back(other.pixels[3 * i]);
  Image alphas{13, 9};
  for (const std::uint8_t value : image.alpha) alphas.pixels.insert(alphas.pixels.end(), 3, value);
  Preprocess preprocess;
  preprocess.resize = ResizeMode::kSquash;
  preprocess.resize_width = 5;
  preprocess.resize_height = 4;
  const Tensor colours = preprocess_image(image, preprocess);
  const Tensor grays = preprocess_image(alphas, preprocess);
  preprocess.channels = ChannelOrder::kRgba;
  const Tensor all = preprocess_image(image, preprocess);
  std::vector<float> expected(colours.values<float>().begin(), colours.values<float>().end());
  const auto alpha = grays.values<float>().first(20);
  expected.insert(expected.end(), alpha.begin(), alpha.end());
  EXPECT_EQ(values_of(all), expected);
}

TEST(Preprocess, GrayOfEqualChannelsIsTheChannel) {
  Preprocess preprocess;
  preprocess.channels = ChannelOrder::kGray;
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<std::uint8_t>(value);
    const Tensor gray = preprocess_image({1, 1, {byte, byte, byte}}, preprocess);
    EXPECT_EQ(gray.values<float>()[0], static_cast<float>(value));
  }
}

TEST(Preprocess, MeanAndStdBelongToTheChannelsAsFed) {
  Preprocess preprocess;
  preprocess.channels = ChannelOrder::kBgr;
  preprocess.mean = {1.0F, 2.0F, 3.0F};
  preprocess.std = {2.0F, 4.0F, 8.0F};
  const Tensor tensor = preprocess_image({1, 1, {11, 22, 33}}, preprocess);
  EXPECT_THAT(tensor.values<float>(), ElementsAre(16.0F, 5.0F, 1.0F));
}

TEST(Preprocess, CropTakesTheCentreAndRoundsAHalfToEven) {
  Preprocess preprocess;
  preprocess.crop_width = 2;
  preprocess.crop_height = 2;
  const Image image = make_image(5, 7);  // surplus 3 gives 2 (1.5), surplus 5 gives 2 (2.5)
  const Tensor tensor = preprocess_image(image, preprocess);
  EXPECT_EQ(tensor.shape(), Shape({1, 3, 2, 2}));
  EXPECT_EQ(tensor.values<float>()[0], static_cast<float>(image.pixels[(2 * 5 + 2) * 3]));
}

TEST(Preprocess, CroppedResizeEqualsTheCropOfTheWholeResize) {
  const Image image = make_image(53, 37);
  Preprocess whole;
  whole.resize = ResizeMode::kShorterSide;
  whole.resize_shorter = 20;
  Preprocess part = whole;
  part.crop_width = 12;
  part.crop_height = 16;
  const Tensor all = preprocess_image(image, whole);
  const Tensor cropped = preprocess_image(image, part);
  EXPECT_EQ(all.shape(), Shape({1, 3, 20, 28}));  // 20 * 53 / 37 = 28.6
  for (std::int64_t y = 0; y < 16; ++y) {
    for (std::int64_t x = 0; x < 12; ++x) {
      EXPECT_EQ(cropped.values<float>()[static_cast<std::size_t>(y * 12 + x)],
                all.values<float>()[static_cast<std::size_t>((y + 2) * 28 + x + 8)]);
    }
  }
}

TEST(Preprocess, LetterboxKeepsProportionsAndFillsTheRest) {
  Preprocess preprocess = sized(ResizeMode::kLetterbox, 8, 8);
  Image image{4, 2, std::vector<std::uint8_t>(24, 200)};
  const Tensor tensor = preprocess_image(image, preprocess);
  EXPECT_EQ(tensor.shape(), Shape({1, 3, 8, 8}));
  for (std::size_t i = 0; i < 64; ++i) {
    const bool inside = i / 8 >= 2 && i / 8 < 6;
    EXPECT_EQ(tensor.values<float>()[i], inside ? 200.0F : 114.0F) << i;
  }
  image = Image{1, 1000, std::vector<std::uint8_t>(3000, 200)};
  EXPECT_EQ(values_of(preprocess_image(image, preprocess))[0], 114.0F);
}

TEST(Preprocess, AFlatImageStaysFlatAtEverySize) {
  for (const int value : {0, 1, 127, 254, 255}) {
    const Image image{13, 11, std::vector<std::uint8_t>(429, static_cast<std::uint8_t>(value))};
    for (std::int64_t side = 1; side < 40; side += 3) {
      const Tensor tensor = preprocess_image(image, sized(ResizeMode::kSquash, side, 41 - side));
      EXPECT_THAT(tensor.values<float>(), testing::Each(static_cast<float>(value)));
    }
  }
}

TEST(Preprocess, RefusesNonsenseInOneSentence) {
  EXPECT_THAT(preprocess_refusal(sized(ResizeMode::kSquash, 0, 5)),
              HasSubstr("squash width is 0 pixels"));
  EXPECT_THAT(preprocess_refusal(sized(ResizeMode::kLetterbox, 5, 20000)), HasSubstr("1 to 16384"));
  Preprocess p = sized(ResizeMode::kSquash, 10, 10);
  p.crop_width = p.crop_height = 11;
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("larger than the resized image, 10x10"));
  p.crop_height = 0;
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("height is 0 pixels"));
  p = sized(ResizeMode::kLetterbox, 10, 10);
  p.crop_width = p.crop_height = 5;
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("letterbox"));
  p = {};
  p.mean = {1.0F, 2.0F};
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("mean has 2 values"));
  p = {};
  p.channels = ChannelOrder::kGray;
  p.std = {1.0F, 1.0F, 1.0F};
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("std has 3 values"));
  p = {};
  p.std = {0.0F};
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("std holds 0"));
  p.std = {std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("std holds nan"));
  p = {};
  p.mean = {std::numeric_limits<float>::infinity()};
  EXPECT_THAT(preprocess_refusal(p), HasSubstr("mean holds inf"));
}

TEST(Preprocess, RefusesImagesThatDoNotFit) {
  Preprocess crop;
  crop.crop_width = crop.crop_height = 8;
  EXPECT_THROW(static_cast<void>(output_shape(crop, 7, 100)), Error);
  Preprocess shorter;
  shorter.resize = ResizeMode::kShorterSide;
  shorter.resize_shorter = 16384;
  EXPECT_THROW(static_cast<void>(output_shape(shorter, 1, 60000)), Error);
  std::vector<float> room(11);
  EXPECT_THROW(apply(make_image(2, 2), {}, room), Error);
  EXPECT_THROW(static_cast<void>(preprocess_image({2, 2, {1, 2, 3}}, {})), Error);
}

TEST(Preprocess, AreEqualWhenTheirEffectIs) {
  Preprocess a = preprocess_preset("tf");
  Preprocess b = a;
  b.resize_shorter = 99;
  b.fill = 0;
  b.mean = {127.5F, 127.5F, 127.5F};
  EXPECT_EQ(a, b);
  b.mean[1] = 0.0F;
  EXPECT_NE(a, b);
  b = a;
  b.resize_width = 225;
  EXPECT_NE(a, b);
}

TEST(Preprocess, QuestionsUnitsOfZeroToOne) {
  Preprocess p = preprocess_preset("imagenet");
  EXPECT_FALSE(doubtful(p).has_value());
  p.mean = {0.485F, 0.456F, 0.406F};
  EXPECT_THAT(doubtful(p).value_or(""), HasSubstr("mean 0.485,0.456,0.406 looks like units of 0"));
  p = preprocess_preset("imagenet");
  p.std = {0.229F, 0.224F, 0.225F};
  EXPECT_THAT(doubtful(p).value_or(""), HasSubstr("multiply it by 255"));
  p.std = {0.017F};
  EXPECT_THAT(doubtful(p).value_or(""), HasSubstr("reciprocal"));
  p.std = {1.0F};
  p.mean = {300.0F};
  EXPECT_TRUE(doubtful(p).has_value());
}

TEST(PreprocessPreset, EveryOneIsValidAndSorted) {
  const std::vector<std::string> names = preset_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const Preprocess preset = preprocess_preset(name);
    EXPECT_EQ(preprocess_refusal(preset), "accepted") << name;
    EXPECT_FALSE(doubtful(preset).has_value()) << name;
  }
}

TEST(PreprocessPreset, YoloxFeedsBytesOfBgr) {
  const Preprocess preset = preprocess_preset("yolox");
  EXPECT_EQ(text_of(preset, PreprocessField::kResize), "letterbox 640x640 fill 114");
  EXPECT_THAT(differences(preset, preprocess_preset("yolo")),
              testing::ElementsAre(PreprocessField::kChannels, PreprocessField::kStd));
  EXPECT_EQ(preset.std, std::vector<float>{1.0F});
}

TEST(PreprocessFields, DifferInEffectOnly) {
  const Preprocess imagenet = preprocess_preset("imagenet");
  EXPECT_THAT(differences(imagenet, imagenet), testing::IsEmpty());
  Preprocess other = imagenet;
  other.resize_width = 7;  // resizing the shorter side ignores it
  other.fill = 3;
  EXPECT_THAT(differences(imagenet, other), testing::IsEmpty());
  other.crop_width = 200;
  other.channels = ChannelOrder::kBgr;
  other.std = {1.0F};
  EXPECT_THAT(differences(imagenet, other),
              testing::ElementsAre(PreprocessField::kCrop, PreprocessField::kChannels,
                                   PreprocessField::kStd));
  Preprocess raw;
  raw.mean = {0.0F, 0.0F, 0.0F};
  EXPECT_THAT(differences(raw, Preprocess()), testing::IsEmpty());
}

TEST(PreprocessPreset, UnknownNamesGetTheNearest) {
  try {
    static_cast<void>(preprocess_preset("imagnet"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("imagenet"));
  }
  EXPECT_THROW(static_cast<void>(resize_mode_of("squish")), Error);
}

TEST(PreprocessNames, ReadBack) {
  for (const ResizeMode mode :
       {ResizeMode::kNone, ResizeMode::kSquash, ResizeMode::kShorterSide, ResizeMode::kLetterbox}) {
    EXPECT_EQ(resize_mode_of(name_of(mode)), mode);
  }
  for (const ChannelOrder order : {ChannelOrder::kRgb, ChannelOrder::kBgr, ChannelOrder::kGray,
                                   ChannelOrder::kRgba, ChannelOrder::kBgra}) {
    EXPECT_EQ(channel_order_of(name_of(order)), order);
  }
  for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
    EXPECT_EQ(tensor_layout_of(name_of(layout)), layout);
  }
}

}  // namespace
}  // namespace qtool
