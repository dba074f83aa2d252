#include <gmock/gmock.h>

#include "qtool/base/error.h"
#include "qtool/calib/format.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string mnn_message(std::string_view text) {
  try {
    read_mnn_config(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(MnnConfig, TranslatesEveryKey) {
  const MnnConfig config = read_mnn_config(R"({
    "format": "BGR", "mean": [103.94, 116.78, 123.68], "normal": [0.017, 0.017, 0.017],
    "width": 224, "height": 192, "path": "photos/", "used_image_num": 50,
    "feature_quantize_method": "KL", "weight_quantize_method": "MAX_ABS",
    "feature_clamp_value": 127, "weight_clamp_value": 127,
    "skip_quant_op_names": ["conv1", "fc"], "quant_bits": 8})");
  ASSERT_TRUE(config.preprocess);
  EXPECT_EQ(config.preprocess->channels, ChannelOrder::kBgr);
  EXPECT_EQ(config.preprocess->resize, ResizeMode::kSquash);
  EXPECT_EQ(config.preprocess->resize_width, 224);
  EXPECT_EQ(config.preprocess->resize_height, 192);
  EXPECT_THAT(config.preprocess->mean, ElementsAre(103.94F, 116.78F, 123.68F));
  EXPECT_FLOAT_EQ(config.preprocess->std[0], 1.0F / 0.017F);
  EXPECT_EQ(config.images, "photos/");
  EXPECT_EQ(config.limit, 50);
  EXPECT_EQ(config.method, "kl_mnn");
  EXPECT_EQ(config.weight_method, "absmax");
  EXPECT_THAT(config.exclude, ElementsAre("conv1", "fc"));
  EXPECT_EQ(config.bits, 8);
}

TEST(MnnConfig, LeavesAbsentWhatItDoesNotSay) {
  const MnnConfig config = read_mnn_config(R"({"feature_quantize_method": "EMA"})");
  EXPECT_FALSE(config.preprocess);
  EXPECT_FALSE(config.limit);
  EXPECT_FALSE(config.bits);
  EXPECT_EQ(config.method, "ema");
  EXPECT_TRUE(config.weight_method.empty());
  EXPECT_EQ(read_mnn_config(R"({"feature_quantize_method": "ADMM"})").method, "admm");
  EXPECT_EQ(read_mnn_config(R"({"weight_quantize_method": "ADMM"})").weight_method, "admm");
}

TEST(MnnConfig, TakesOneChannelOfAGrayConfiguration) {
  const MnnConfig config =
      read_mnn_config(R"({"format": "GRAY", "mean": [127.5, 0, 0, 0], "normal": [0.0078125]})");
  EXPECT_THAT(config.preprocess->mean, ElementsAre(127.5F));
  EXPECT_THAT(config.preprocess->std, ElementsAre(128.0F));
}

TEST(MnnConfig, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(mnn_message(R"({"used_image_nums": 3})"), HasSubstr("'used_image_num'"));
  EXPECT_THAT(mnn_message(R"({"feature_quantize_method": "kl"})"), HasSubstr("KL, EMA, ADMM"));
  EXPECT_THAT(mnn_message(R"({"format": "YUV"})"), HasSubstr("RGB, BGR, GRAY"));
  EXPECT_THAT(mnn_message(R"({"normal": [0, 1, 1]})"), HasSubstr("above 0"));
  EXPECT_THAT(mnn_message(R"({"mean": [1, 2]})"), HasSubstr("1 or 3"));
  EXPECT_THAT(mnn_message(R"({"width": 3})"), HasSubstr("together"));
  EXPECT_THAT(mnn_message(R"({"feature_clamp_value": 100})"), HasSubstr("127"));
  EXPECT_THAT(mnn_message(R"({"quant_bits": 16})"), HasSubstr("2 to 8"));
  EXPECT_EQ(mnn_message(R"({"quant_bits": 4, "weight_clamp_value": 7})"), "no error");
  EXPECT_THAT(mnn_message("[]"), HasSubstr("an object"));
  EXPECT_THAT(mnn_message("{"), HasSubstr("not JSON"));
}

}  // namespace
}  // namespace qtool
