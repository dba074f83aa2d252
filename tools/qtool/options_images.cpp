#include "options_images.h"

#include <utility>

#include "console.h"
#include "files.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"
#include "qtool/calib/preprocess_json.h"
#include "qtool/report/compare.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMostPreprocessBytes = 1 << 16;
constexpr const char* kGroup = "Preprocessing";

std::vector<float> parse_floats(const std::string& text, const char* option) {
  std::vector<float> values;
  for (const std::string& part : split(text, ',')) {
    try {
      values.push_back(parse_float(part, option));
    } catch (const Error& error) {
      throw Error(ErrorCode::kUsage, error.what());
    }
  }
  return values;
}

/// Width and height; one number stands for both.
std::pair<std::int64_t, std::int64_t> parse_size(const std::string& text, const char* option) {
  const std::vector<std::int64_t> sides = parse_extents(text, option);
  if (sides.size() > 2) {
    throw Error(ErrorCode::kUsage,
                concat(option, ": found '", text, "', expected WIDTHxHEIGHT or one number"));
  }
  return {sides.front(), sides.back()};
}

Preprocess read_preprocess(const std::string& name) {
  if (!name.ends_with(".json")) return preprocess_preset(name);
  try {
    return preprocess_from_json(read_input(name, kMostPreprocessBytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw Error(error.code(), concat("preprocessing '", name, "': ", error.what()));
  }
}

/// Height, width and layout of a picture at the network's input, as far as the model tells.
struct InputGeometry {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  TensorLayout layout = TensorLayout::kNchw;
};

bool counts_channels(std::int64_t extent) { return extent == 1 || extent == 3; }

InputGeometry geometry_of(const Graph& graph) {
  InputGeometry geometry;
  const Value& input = image_input(graph);
  if (!input.shape || input.shape->size() != 4) return geometry;
  const auto extent = [&](std::size_t axis) { return (*input.shape)[axis].size.value_or(0); };
  if (!counts_channels(extent(1)) && counts_channels(extent(3))) {
    geometry.layout = TensorLayout::kNhwc;
  }
  const std::size_t first = geometry.layout == TensorLayout::kNhwc ? 1 : 2;
  geometry.height = extent(first);
  geometry.width = extent(first + 1);
  geometry.channels = extent(geometry.layout == TensorLayout::kNhwc ? 3 : 1);
  return geometry;
}

/// Fills in what a preprocessing may leave to the network: the size and the layout.
Preprocess completed(Preprocess preprocess, const InputGeometry& geometry) {
  if (geometry.layout == TensorLayout::kNhwc) preprocess.layout = geometry.layout;
  const bool sized = preprocess.resize != ResizeMode::kNone || preprocess.crop_width > 0;
  if (!sized && geometry.height > 0 && geometry.width > 0) {
    preprocess.resize = ResizeMode::kSquash;
    preprocess.resize_width = geometry.width;
    preprocess.resize_height = geometry.height;
  }
  return preprocess;
}

/// What to assume when nobody says anything: the mean and deviation of ImageNet for colour.
Preprocess assumed(const InputGeometry& geometry) {
  Preprocess preprocess;
  if (geometry.channels == 1) {
    preprocess.channels = ChannelOrder::kGray;
    preprocess.std = {255.0F};
    return preprocess;
  }
  const Preprocess imagenet = preprocess_preset("imagenet");
  preprocess.mean = imagenet.mean;
  preprocess.std = imagenet.std;
  return preprocess;
}

}  // namespace

void ImageOptions::add_to(CLI::App& command, ImagesUse use) {
  command.add_option("--images", images, "Folder of images (sub-folders are classes) or list file")
      ->type_name("DIR")
      ->required(use == ImagesUse::kMeasure)
      ->group("Images");
  if (use == ImagesUse::kMeasure) {
    command.add_option("--labels", labels, "File with one class name per line")
        ->type_name("FILE")
        ->group("Images");
  }
  command.add_option("--limit", limit, "Use at most N images, spread evenly; 0 = all")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group("Images");
  command
      .add_flag("--strict", strict,
                "Stop at an image that cannot be read instead of leaving it out")
      ->group("Images");
}

ImageSet ImageOptions::list() const {
  const std::vector<std::string> names =
      labels.empty() ? std::vector<std::string>() : read_class_names(labels);
  return list_input_images(images, names, limit);
}

void PreprocessOptions::add_to(CLI::App& command, StoredCheck check) {
  std::string presets;
  for (const std::string& name : preset_names())
    presets += concat(presets.empty() ? "" : ", ", name);
  const auto text = [&command](const char* name, std::string& value, std::string description,
                               const char* type) {
    command.add_option(name, value, std::move(description))->type_name(type)->group(kGroup);
  };
  text("--preprocess", preprocess_, concat("Preset (", presets, ") or .json file"), "NAME|FILE");
  text("--resize", resize_, "Resize to this size, whatever the proportions", "WxH");
  command.add_option("--resize-shorter", resize_shorter_, "Resize the shorter side to N pixels")
      ->type_name("N")
      ->group(kGroup);
  text("--letterbox", letterbox_, "Fit into this size and fill the border", "WxH");
  command.add_option("--fill", fill_, "Grey level of the letterbox border")
      ->type_name("0-255")
      ->check(CLI::Range(0, 255))
      ->group(kGroup);
  text("--crop", crop_, "Cut out the centre after the resize", "N|WxH");
  text("--mean", mean_, "Mean per channel in pixel units (0 to 255)", "A,B,C");
  text("--std", std_, "Deviation per channel in pixel units: x = (pixel - mean) / std", "A,B,C");
  text("--channels", channels_, "rgb, bgr or gray", "ORDER");
  text("--layout", layout_, "nchw or nhwc", "LAYOUT");
  if (check == StoredCheck::kForceable) {
    command.add_flag("--force", force_, "Use these flags even if another preprocessing is stored")
        ->group(kGroup);
  }
}

bool PreprocessOptions::given() const {
  for (const std::string* text :
       {&preprocess_, &resize_, &crop_, &letterbox_, &mean_, &std_, &channels_, &layout_}) {
    if (!text->empty()) return true;
  }
  return resize_shorter_.has_value() || fill_.has_value();
}

Preprocess PreprocessOptions::with_flags(Preprocess base) const {
  const int resizes = static_cast<int>(!resize_.empty()) +
                      static_cast<int>(resize_shorter_.has_value()) +
                      static_cast<int>(!letterbox_.empty());
  if (resizes > 1) {
    throw Error(ErrorCode::kUsage,
                "--resize, --resize-shorter and --letterbox exclude each other; give one");
  }
  if (!resize_.empty()) {
    base.resize = ResizeMode::kSquash;
    std::tie(base.resize_width, base.resize_height) = parse_size(resize_, "--resize");
  }
  if (resize_shorter_) {
    base.resize = ResizeMode::kShorterSide;
    base.resize_shorter = *resize_shorter_;
  }
  if (!letterbox_.empty()) {
    base.resize = ResizeMode::kLetterbox;
    std::tie(base.resize_width, base.resize_height) = parse_size(letterbox_, "--letterbox");
  }
  // A resize of one's own replaces the preset's crop too: it belonged to the preset's size.
  if (resizes > 0) base.crop_width = base.crop_height = 0;
  if (!crop_.empty()) std::tie(base.crop_width, base.crop_height) = parse_size(crop_, "--crop");
  if (fill_) base.fill = static_cast<std::uint8_t>(*fill_);
  if (!mean_.empty()) base.mean = parse_floats(mean_, "--mean");
  if (!std_.empty()) base.std = parse_floats(std_, "--std");
  if (!channels_.empty()) base.channels = channel_order_of(channels_);
  if (!layout_.empty()) base.layout = tensor_layout_of(layout_);
  return base;
}

Preprocess PreprocessOptions::choose(const std::optional<StoredPreprocess>& stored,
                                     const Graph& graph) const {
  const InputGeometry geometry = geometry_of(graph);
  Preprocess base = !preprocess_.empty() ? read_preprocess(preprocess_)
                    : stored             ? stored->preprocess
                    : given()            ? Preprocess()
                                         : assumed(geometry);
  const Preprocess chosen = completed(with_flags(std::move(base)), geometry);
  check(chosen);
  if (stored && given()) {
    const Preprocess expected = completed(stored->preprocess, geometry);
    if (!(chosen == expected)) {
      const std::string difference = concat("the flags say '", describe(chosen), "', ",
                                            stored->where, " says '", describe(expected), "'");
      if (!force_) {
        throw Error(ErrorCode::kMismatch,
                    concat("preprocessing: ", difference, "; leave the flags out or give --force"));
      }
      warning(concat("preprocessing: ", difference, "; the flags are used because of --force"));
    }
  }
  if (!stored && !given()) {
    warning(concat("no preprocessing given; assuming '", describe(chosen),
                   "'. Name the one the network was trained with by --preprocess or the flags"));
  }
  if (const std::optional<std::string> doubt = doubtful(chosen)) warning(*doubt);
  detail(concat("preprocessing: ", describe(chosen)));
  return chosen;
}

}  // namespace qtool::tool
