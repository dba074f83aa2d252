#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "json/json.h"
#include "qtool/calib/format.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxMnnConfigBytes = std::int64_t{1} << 20;
constexpr std::int64_t kMaxSide = 16384;
constexpr std::int64_t kMaxImages = std::int64_t{1} << 40;

struct Word {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array kFeatureMethods = {Word{"KL", "kl_mnn"}, Word{"EMA", "ema"},
                                        Word{"ADMM", "admm"}};
constexpr std::array kWeightMethods = {Word{"MAX_ABS", "absmax"}, Word{"ADMM", "admm"}};
constexpr std::array kFormats = {Word{"RGB", "rgb"}, Word{"BGR", "bgr"}, Word{"GRAY", "gray"}};

template <std::size_t N>
std::string translated(const JsonField& field, const std::array<Word, N>& words) {
  const std::string theirs = field.as_string();
  std::string known;
  for (const Word& word : words) {
    if (word.theirs == theirs) return std::string(word.ours);
    known += to_text(known.empty() ? "" : ", ", word.theirs);
  }
  field.fail(to_text("one of ", known));
}

/// One number per channel of the network's input; MNN allows a fourth for a channel that is
/// dropped.
std::vector<float> per_channel(const JsonField& field, std::size_t channels) {
  std::vector<float> values = field.as_floats();
  if (values.empty() || values.size() > 4) field.fail("1 to 4 numbers");
  if (values.size() > channels) values.resize(channels);
  if (values.size() < channels) {
    if (values.size() != 1) field.fail(to_text("1 or ", channels, " numbers"));
  }
  return values;
}

std::optional<Preprocess> mnn_preprocess_of(const JsonField& root) {
  const auto format = root.find("format");
  const auto mean = root.find("mean");
  const auto normal = root.find("normal");
  const auto width = root.find("width");
  const auto height = root.find("height");
  if (!format && !mean && !normal && !width && !height) return std::nullopt;
  Preprocess preprocess;
  if (format) preprocess.channels = channel_order_of(translated(*format, kFormats));
  const auto channels = static_cast<std::size_t>(channels_of(preprocess.channels));
  if (mean) preprocess.mean = per_channel(*mean, channels);
  if (normal) {
    preprocess.std = per_channel(*normal, channels);
    for (float& value : preprocess.std) {
      if (!(value > 0.0F) || !std::isfinite(1.0F / value)) normal->fail("numbers above 0");
      value = 1.0F / value;
    }
  }
  if (width.has_value() != height.has_value()) {
    (width ? *width : *height).fail("width and height together");
  }
  if (width) {
    preprocess.resize = ResizeMode::kSquash;
    preprocess.resize_width = width->as_int(1, kMaxSide);
    preprocess.resize_height = height->as_int(1, kMaxSide);
  }
  return preprocess;
}

}  // namespace

MnnConfig read_mnn_config(std::string_view text) {
  constexpr ErrorCode kCode = ErrorCode::kUsage;
  const nlohmann::json document = parse_json(text, kMaxMnnConfigBytes, "MNN configuration", kCode);
  const JsonField root(document, "MNN configuration", kCode);
  root.require_object({"format", "mean", "normal", "width", "height", "path", "used_image_num",
                       "feature_quantize_method", "weight_quantize_method", "feature_clamp_value",
                       "weight_clamp_value", "skip_quant_op_names", "quant_bits"});
  MnnConfig config;
  config.preprocess = mnn_preprocess_of(root);
  if (const auto path = root.find("path")) config.images = path->as_string();
  if (const auto count = root.find("used_image_num")) config.limit = count->as_int(0, kMaxImages);
  if (const auto method = root.find("feature_quantize_method")) {
    config.method = translated(*method, kFeatureMethods);
  }
  if (const auto method = root.find("weight_quantize_method")) {
    config.weight_method = translated(*method, kWeightMethods);
  }
  if (const auto bits = root.find("quant_bits")) {
    config.bits = static_cast<int>(bits->as_int(2, 8));
  }
  const std::int64_t limit = (std::int64_t{1} << (config.bits.value_or(8) - 1)) - 1;
  for (const std::string_view key : {"feature_clamp_value", "weight_clamp_value"}) {
    if (const auto clamp = root.find(key)) static_cast<void>(clamp->as_int(limit, limit));
  }
  if (const auto names = root.find("skip_quant_op_names")) {
    for (const JsonField& name : names->elements()) config.exclude.push_back(name.as_string());
  }
  return config;
}

}  // namespace qtool
