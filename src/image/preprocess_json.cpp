#include "image/preprocess_json.h"

#include "base/file.h"
#include "base/text.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxPreprocessBytes = std::int64_t{1} << 16;

std::int64_t side_of(const JsonField& object, std::string_view key) {
  return object.at(key).as_int(1, kMaxPreprocessSide);
}

// The enumerator of a name; `find` throws for an unknown one.
template <typename Find>
auto enumerator_of(const JsonField& field, Find find) {
  try {
    return find(field.as_string());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    field.fail(std::string_view(error.what()));
  }
}

void read_resize(const JsonField& resize, Preprocess& preprocess) {
  resize.require_object({"mode", "width", "height", "size", "fill"});
  preprocess.resize = enumerator_of(resize.at("mode"), resize_mode_of);
  switch (preprocess.resize) {
    case ResizeMode::kNone:
      resize.require_object({"mode"});
      break;
    case ResizeMode::kShorterSide:
      resize.require_object({"mode", "size"});
      preprocess.resize_shorter = side_of(resize, "size");
      break;
    case ResizeMode::kLetterbox:
      if (const auto fill = resize.find("fill")) {
        preprocess.fill = static_cast<std::uint8_t>(fill->as_int(0, 255));
      }
      [[fallthrough]];
    case ResizeMode::kSquash:
      if (preprocess.resize == ResizeMode::kSquash) {
        resize.require_object({"mode", "width", "height"});
      } else {
        resize.require_object({"mode", "width", "height", "fill"});
      }
      preprocess.resize_width = side_of(resize, "width");
      preprocess.resize_height = side_of(resize, "height");
      break;
  }
}

}  // namespace

nlohmann::ordered_json preprocess_to_json(const Preprocess& preprocess) {
  nlohmann::ordered_json resize;
  resize["mode"] = name_of(preprocess.resize);
  if (preprocess.resize == ResizeMode::kShorterSide) {
    resize["size"] = preprocess.resize_shorter;
  } else if (preprocess.resize != ResizeMode::kNone) {
    resize["width"] = preprocess.resize_width;
    resize["height"] = preprocess.resize_height;
    if (preprocess.resize == ResizeMode::kLetterbox) resize["fill"] = preprocess.fill;
  }
  nlohmann::ordered_json object;
  object["resize"] = std::move(resize);
  if (preprocess.crop_width > 0) {
    object["crop"] = {{"width", preprocess.crop_width}, {"height", preprocess.crop_height}};
  }
  object["channels"] = name_of(preprocess.channels);
  object["layout"] = name_of(preprocess.layout);
  object["mean"] = json_numbers(preprocess.mean);
  object["std"] = json_numbers(preprocess.std);
  return object;
}

Preprocess preprocess_of(const JsonField& field) {
  field.require_object({"resize", "crop", "channels", "layout", "mean", "std"});
  Preprocess preprocess;
  if (const auto resize = field.find("resize")) read_resize(*resize, preprocess);
  if (const auto crop = field.find("crop")) {
    crop->require_object({"width", "height"});
    preprocess.crop_width = side_of(*crop, "width");
    preprocess.crop_height = side_of(*crop, "height");
  }
  if (const auto channels = field.find("channels")) {
    preprocess.channels = enumerator_of(*channels, channel_order_of);
  }
  if (const auto layout = field.find("layout")) {
    preprocess.layout = enumerator_of(*layout, tensor_layout_of);
  }
  if (const auto mean = field.find("mean")) preprocess.mean = mean->as_floats();
  if (const auto std = field.find("std")) preprocess.std = std->as_floats();
  try {
    check(preprocess);
  } catch (const Error& error) {
    field.fail(to_text("a preprocessing that makes sense (", error.what(), ")"));
  }
  return preprocess;
}

std::string to_json_text(const Preprocess& preprocess) {
  return preprocess_to_json(preprocess).dump();
}

Preprocess preprocess_from_json(std::string_view text) {
  const nlohmann::json document =
      parse_json(text, kMaxPreprocessBytes, "preprocessing", ErrorCode::kUsage);
  return preprocess_of(JsonField(document, "preprocessing", ErrorCode::kUsage));
}

Preprocess load_preprocess(const std::filesystem::path& path) {
  return preprocess_from_json(read_file(path, kMaxPreprocessBytes));
}

}  // namespace qtool
