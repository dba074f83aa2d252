#include "qtool/calib/table.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "qtool/base/error.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

CalibrationTable sample_table() {
  CalibrationTable table;
  table.model_fingerprint = 0x0123456789abcdefU;
  table.image_list_hash = 0xfedcba9876543210U;
  table.image_count = 100;
  table.preprocess = preprocess_preset("imagenet");
  table.method = "kl";
  ActivationEntry entry;
  entry.tensor = "conv \"1\"\n\xC3\xA9";
  entry.producer = "Conv_0";
  entry.range = {-0.1F, 7.3F};
  entry.affine = {0.0290196078F, 3};
  entry.saturated_share = 1.0 / 3.0;
  entry.sqnr_db = 37.123456789;
  entry.observed = {-0.1F, 9.87654321F,    0.1, 1.2345678901234567, 123456789012345,
                    77,    {0.1F, -1e-30F}};
  entry.observed.channel_mins = {-0.1F, -2e-30F};
  entry.observed.channel_maxs = {9.87654321F, 0.0F};
  table.activations.push_back(entry);
  entry.tensor = "input";
  entry.origin = Origin::kUser;
  entry.producer.clear();
  entry.range = {};
  entry.affine = {};
  entry.dtype = DType::kInt8;
  entry.affine.zero_point = -128;
  entry.degenerate = Degenerate::kAllZero;
  entry.sqnr_db.reset();
  entry.observed = {};
  table.activations.push_back(entry);
  table.weights.push_back({"conv1.weight", "Conv_0", {{0.001F, 1.0F, 3e-38F}, {}, 0}});
  table.weights.push_back({"fc.weight", "Gemm_9", {{0.5F}, {}, -1}});
  table.weights.push_back({"head.weight", "Conv_11", {{0.5F, 0.25F}, {-7, 3}, 1}, 4});
  table.aliases.push_back({"bn1", "input"});
  return table;
}

std::string table_message(std::string_view text) {
  try {
    static_cast<void>(read_table(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidTable) << error.what();
    return error.what();
  }
  return "no error";
}

// The sample table as JSON, with one field replaced. `path` is a JSON pointer.
std::string sample_with(const std::string& path, const nlohmann::json& value) {
  nlohmann::json document = nlohmann::json::parse(write_table(sample_table()));
  document[nlohmann::json::json_pointer(path)] = value;
  return document.dump();
}

TEST(Table, ReadsBackWhatItWrote) {
  const CalibrationTable table = sample_table();
  const std::string text = write_table(table);
  const CalibrationTable copy = read_table(text);
  EXPECT_EQ(copy, table);
  EXPECT_EQ(write_table(copy), text);
  CalibrationTable smallest;
  smallest.method = "minmax";
  EXPECT_EQ(read_table(write_table(smallest)), smallest);
}

TEST(Table, NamesTheContentsOfItsImagesIfTheyAreKnown) {
  CalibrationTable table = sample_table();
  EXPECT_EQ(write_table(table).find("\"image_ids\""), std::string::npos);
  table.image_count = 3;
  table.image_ids = {1, 1, 0xfedcba9876543210U};
  EXPECT_NE(write_table(table).find("\"image_ids\": [\"0000000000000001\""), std::string::npos);
  EXPECT_EQ(read_table(write_table(table)), table);
}

TEST(Table, RefusesContentsThatAreNotThoseOfItsImages) {
  const auto message = [](std::int64_t count, const nlohmann::json& ids) {
    nlohmann::json document = nlohmann::json::parse(sample_with("/image_ids", ids));
    document["images"]["count"] = count;
    return table_message(document.dump());
  };
  const char* const low = "0000000000000001";
  const char* const high = "00000000000000ff";
  EXPECT_EQ(message(2, {low, high}), "no error");
  EXPECT_NE(message(3, {low, high}).find("image_ids"), std::string::npos);
  EXPECT_NE(message(0, nlohmann::json::array()).find("image_ids"), std::string::npos);
  EXPECT_NE(message(2, {high, low}).find("sorted"), std::string::npos);
  EXPECT_NE(message(2, {low, "ff"}).find("image_ids[1]"), std::string::npos);
  EXPECT_NE(message(1, "0000000000000001").find("an array"), std::string::npos);
  EXPECT_NE(message(100'001, nlohmann::json(100'001, low)).find("100000"), std::string::npos);
}

TEST(Table, KeepsTheTypesThatAUserChose) {
  CalibrationTable table = sample_table();
  EXPECT_EQ(write_table(table).find("\"types\""), std::string::npos);
  table.types.weight_method = "mse";
  table.types.weight_bits = 4;
  table.types.weight_granularity = Granularity::kPerTensor;
  table.types.weight_symmetry = Symmetry::kAsymmetric;
  table.types.winograd_bits = 6;
  table.types.weight_pairs = WeightPairs::kLimited;
  EXPECT_EQ(read_table(write_table(table)), table);
  table.types = {};
  table.types.activation_dtype = DType::kInt8;
  table.types.activation_symmetry = Symmetry::kSymmetric;
  table.types.activation_bits = 7;
  EXPECT_EQ(read_table(write_table(table)), table);
}

TEST(Table, RefusesTypesThatDoNotExist) {
  EXPECT_NE(table_message(sample_with("/types", {{"weight_bits", 9}})).find("weight_bits"),
            std::string::npos);
  EXPECT_NE(table_message(sample_with("/types", {{"weight_bits", 1}})).find("weight_bits"),
            std::string::npos);
  EXPECT_NE(table_message(sample_with("/types", {{"activation_dtype", "int4"}})).find("'int8'"),
            std::string::npos);
  EXPECT_NE(table_message(sample_with("/types", {{"bits", 4}})).find("types"), std::string::npos);
  EXPECT_NE(
      table_message(sample_with("/types", {{"weight_granularity", "row"}})).find("'per-channel'"),
      std::string::npos);
  EXPECT_NE(table_message(sample_with("/activations/0/origin", "me")).find("'user'"),
            std::string::npos);
  EXPECT_NE(table_message(sample_with("/weights/2/zero_points", {1})).find("as many"),
            std::string::npos);
  EXPECT_NE(
      table_message(sample_with("/activations/0/observed/channel_mins", {1})).find("channel_mins"),
      std::string::npos);
}

TEST(Table, KeepsEveryFloatExactly) {
  std::mt19937 random(1);
  CalibrationTable table = sample_table();
  std::vector<float>& means = table.activations[0].observed.channel_means;
  means.clear();
  while (means.size() < 20000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) means.push_back(value);
  }
  table.activations[0].observed.channel_mins = means;
  table.activations[0].observed.channel_maxs = means;
  EXPECT_EQ(read_table(write_table(table)), table);
}

TEST(Table, WritesFloatsInTheirShortestForm) {
  const std::string text = write_table(sample_table());
  EXPECT_NE(text.find("\"range\":[-0.1,7.3]"), std::string::npos) << text;
}

TEST(Table, PutsOneEntryOnALine) {
  const std::string text = write_table(sample_table());
  EXPECT_NE(text.find("\n    {\"tensor\":\"input\","), std::string::npos) << text;
}

TEST(Table, FindsTensorsByNameAndByAlias) {
  const CalibrationTable table = sample_table();
  EXPECT_EQ(table.find("input"), &table.activations[1]);
  EXPECT_EQ(table.find("bn1"), &table.activations[1]);
  EXPECT_EQ(table.find("nothing"), nullptr);
}

TEST(Table, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(table_message(sample_with("/activations/1/scale", "big")),
            "table.activations[1].scale: found \"big\", expected a number");
  EXPECT_EQ(table_message(sample_with("/activations/0/zero_point", 256)),
            "table.activations[0].zero_point: found 256, expected a whole number from 0 to 255");
  EXPECT_EQ(table_message(sample_with("/schema", 2)),
            "table.schema: found 2, expected a whole number from 1 to 1");
  EXPECT_EQ(table_message(sample_with("/weights/0/scale", 1)),
            "table.weights[0]: found the unknown field \"scale\"; did you mean 'scales'?");
  EXPECT_EQ(table_message("{}"), "table: the field 'format' is missing");
}

TEST(Table, RefusesValuesOutsideTheirDomain) {
  const auto refused = [](const std::string& path, const nlohmann::json& value) {
    const std::string message = table_message(sample_with(path, value));
    EXPECT_NE(message.find("expected"), std::string::npos) << path << ": " << message;
  };
  refused("/format", "another table");
  refused("/model/fingerprint", "0123");
  refused("/model/fingerprint", "0123456789ABCDEF");
  refused("/images/count", -1);
  refused("/images/count", 1.5);
  refused("/images/count", 18446744073709551615U);
  refused("/preprocess/channels", "rbg");
  refused("/preprocess/std", {0.0});
  refused("/method/name", "");
  refused("/method/scheme/bits", 9);
  refused("/method/scheme/symmetric", 1);
  refused("/activations", nlohmann::json::object());
  refused("/activations/0", 5);
  refused("/activations/0/tensor", "");
  refused("/activations/0/dtype", "uint4");
  refused("/activations/0/granularity", "per-channel");
  refused("/activations/0/scale", 0.0);
  refused("/activations/0/scale", -1.0);
  refused("/activations/0/scale", 1e-40);
  refused("/activations/0/scale", 1e39);
  refused("/activations/0/range", {1.0, 2.0});
  refused("/activations/0/range", {-1.0, 2.0, 3.0});
  refused("/activations/0/range", {-1.0, nullptr});
  refused("/activations/0/degenerate", "no");
  refused("/activations/0/saturated_share", 1.5);
  refused("/activations/0/sqnr_db", nullptr);
  refused("/activations/0/observed/max", -5.0);
  refused("/activations/0/observed/zeros", 123456789012346);
  refused("/activations/0/observed/std", -1.0);
  refused("/activations/0/observed/channel_means", {1.0, "x"});
  refused("/activations/1/zero_point", 128);
  refused("/activations/1/tensor", "conv \"1\"\n\xC3\xA9");  // the name occurs twice
  refused("/aliases/0/name", "input");                       // an alias of itself
  refused("/weights/0/axis", -1);
  refused("/weights/0/scales", nlohmann::json::array());
  refused("/weights/0/scales", {1.0, 0.0});
  refused("/weights/1/scales", {1.0, 2.0});
}

TEST(Table, SurvivesAnyBytes) {
  const std::string text = write_table(sample_table());
  EXPECT_NE(table_message("").find("not JSON"), std::string::npos);
  EXPECT_NE(table_message("\xff\xfe{").find("UTF-16"), std::string::npos);
  EXPECT_NE(table_message(std::string(100000, '[')).find("nesting"), std::string::npos);
  EXPECT_NE(table_message(std::string(kMaxTableBytes + 1, ' ')).find("bytes"), std::string::npos);
  EXPECT_NE(table_message("{\"format\": 1e999}").find("not JSON"), std::string::npos);
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string broken = text.substr(0, random() % text.size());
    if (round % 2 == 0) {
      broken = text;
      for (int change = 0; change < 3; ++change) {
        broken[random() % broken.size()] = static_cast<char>(random() % 256);
      }
    }
    try {
      static_cast<void>(read_table(broken));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidTable);
    }
  }
}

TEST(Table, RefusesToWriteWhatItCouldNotRead) {
  CalibrationTable table = sample_table();
  table.activations[0].tensor = "\xff";
  EXPECT_THROW(static_cast<void>(write_table(table)), Error);
  table = sample_table();
  table.activations[0].range.max = std::numeric_limits<float>::infinity();
  EXPECT_THROW(static_cast<void>(write_table(table)), Error);
  table = sample_table();
  table.weights[0].affines.scales[0] = std::nanf("");
  EXPECT_THROW(static_cast<void>(write_table(table)), Error);
}

TEST(PreprocessJson, KeepsEveryPreset) {
  for (const std::string& name : preset_names()) {
    const Preprocess preset = preprocess_preset(name);
    const std::string text = to_json_text(preset);
    EXPECT_EQ(preprocess_from_json(text), preset) << text;
    EXPECT_EQ(to_json_text(preprocess_from_json(text)), text);
  }
}

TEST(PreprocessJson, KeepsEveryField) {
  Preprocess preprocess;
  preprocess.resize = ResizeMode::kShorterSide;
  preprocess.resize_shorter = 256;
  preprocess.crop_width = 224;
  preprocess.crop_height = 192;
  preprocess.channels = ChannelOrder::kBgr;
  preprocess.layout = TensorLayout::kNhwc;
  preprocess.mean = {103.53F, 116.28F, 123.675F};
  preprocess.std = {57.375F};
  EXPECT_EQ(to_json_text(preprocess),
            "{\"resize\":{\"mode\":\"shorter\",\"size\":256},"
            "\"crop\":{\"width\":224,\"height\":192},\"channels\":\"bgr\",\"layout\":\"nhwc\","
            "\"mean\":[103.53,116.28,123.675],\"std\":[57.375]}");
  EXPECT_EQ(preprocess_from_json(to_json_text(preprocess)), preprocess);
  preprocess = {};
  preprocess.resize = ResizeMode::kLetterbox;
  preprocess.resize_width = 640;
  preprocess.resize_height = 480;
  preprocess.fill = 7;
  EXPECT_EQ(preprocess_from_json(to_json_text(preprocess)), preprocess);
}

TEST(PreprocessJson, GivesDefaultsToWhatIsLeftOut) {
  EXPECT_EQ(preprocess_from_json("{}"), Preprocess());
  EXPECT_EQ(preprocess_from_json("{\"mean\": [127.5], \"std\": [127.5]}").mean[0], 127.5F);
}

TEST(PreprocessJson, NamesTheFieldThatIsWrong) {
  const auto message = [](std::string_view text) -> std::string {
    try {
      static_cast<void>(preprocess_from_json(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("{\"resize\": {\"mode\": \"squash\", \"width\": 10}}"),
            "preprocessing.resize: the field 'height' is missing");
  EXPECT_EQ(message("{\"men\": [1]}"),
            "preprocessing: found the unknown field \"men\"; did you mean 'mean'?");
  EXPECT_NE(message("{\"resize\": {\"mode\": \"none\", \"size\": 3}}").find("unknown field"),
            std::string::npos);
  EXPECT_NE(message("{\"channels\": \"rbg\"}").find("preprocessing.channels"), std::string::npos);
  EXPECT_NE(message("{\"std\": [0]}").find("std"), std::string::npos);
  EXPECT_NE(message("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(message("nonsense").find("not JSON"), std::string::npos);
}

}  // namespace
}  // namespace qtool
