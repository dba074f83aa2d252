#include "options/images.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxPreprocessBytes = 1 << 16;
constexpr const char* kPreprocessingGroup = "Preprocessing";

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

/// Whether --preprocess names a file, not a preset.
bool is_preprocess_file(std::string_view name) { return name.ends_with(".json"); }

constexpr std::string_view kNone = "none";
constexpr std::string_view kSquashWord = "squash";
constexpr std::string_view kAssumed = "assumed";

/// Width and height; one number stands for both.
std::pair<std::int64_t, std::int64_t> parse_size(const std::string& text, const char* option) {
  const std::vector<std::int64_t> sides = parse_extents(text, option);
  if (sides.size() > 2) {
    throw Error(ErrorCode::kUsage,
                to_text(option, ": found '", text, "', expected WIDTHxHEIGHT or one number"));
  }
  return {sides.front(), sides.back()};
}

/// Height, width, channels and layout of an image at the network's input; 0 if the model does not
/// state a number.
struct InputGeometry {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  TensorLayout layout = TensorLayout::kNchw;
};

bool counts_channels(std::int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

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

/// Takes the layout from the network's input. A flag may change it later.
void fill_layout(const InputGeometry& geometry, Preprocess& preprocess) {
  if (geometry.layout == TensorLayout::kNhwc) preprocess.layout = geometry.layout;
}

/// Takes the size from the network's input if the preprocessing leaves it open.
void fill_size(const InputGeometry& geometry, Preprocess& preprocess) {
  const bool sized = preprocess.resize != ResizeMode::kNone || preprocess.crop_width > 0;
  if (sized || geometry.height == 0 || geometry.width == 0) return;
  preprocess.resize = ResizeMode::kSquash;
  preprocess.resize_width = geometry.width;
  preprocess.resize_height = geometry.height;
}

/// Values from 0 to 1, for gray images and images with alpha. ImageNet has no mean and deviation
/// for these.
Preprocess assumed_units(ChannelOrder order) {
  Preprocess preprocess;
  preprocess.channels = order;
  preprocess.std = {255.0F};
  return preprocess;
}

/// The preprocessing assumed when none is given: mean and deviation of ImageNet for colour.
Preprocess assumed(const InputGeometry& geometry) {
  if (geometry.channels == 1) return assumed_units(ChannelOrder::kGray);
  if (geometry.channels == 4) return assumed_units(ChannelOrder::kRgba);
  Preprocess preprocess;
  const Preprocess imagenet = preprocess_preset("imagenet");
  preprocess.mean = imagenet.mean;
  preprocess.std = imagenet.std;
  return preprocess;
}

}  // namespace

void take_preprocess(Option& option) {
  option.name_of(preset_names(), [](std::string_view name) {
    if (!is_preprocess_file(name)) static_cast<void>(preprocess_preset(name));
    return std::string(name);
  });
}

Preprocess read_preprocess(const std::string& name) {
  if (!is_preprocess_file(name)) return preprocess_preset(name);
  try {
    return preprocess_from_json(read_input(name, kMaxPreprocessBytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw Error(error.code(), to_text("preprocessing '", name, "': ", error.what()));
  }
}

void fit_letterbox(const std::string& name, const Graph& graph, Preprocess& preprocess) {
  if (is_preprocess_file(name) || preprocess.resize != ResizeMode::kLetterbox) return;
  const InputGeometry geometry = geometry_of(graph);
  if (geometry.height == 0 || geometry.width == 0) return;
  preprocess.resize_width = geometry.width;
  preprocess.resize_height = geometry.height;
}

void refuse_preprocess_of_tensors(Command& command) {
  for (const auto& option : command.options()) {
    if (option->group() != kPreprocessingGroup) continue;
    command.not_with(option->name(), {{"--inputs", {}}});
  }
}

void PreprocessOptions::add_to(Command& command) {
  const auto text = [&command](const char* name, std::string& value, std::string description,
                               const char* type) -> Option& {
    return command.option(name, value, std::move(description))
        .placeholder(type)
        .group(kPreprocessingGroup);
  };
  take_preprocess(text("--preprocess", preprocess_, "Preset or JSON file, see qtool help presets",
                       "NAME|FILE"));
  text("--resize", resize_,
       "Resize to this size, whatever the proportions; none: do not\n"
       "After a letterbox it is the size of the letterbox. squash: the same size, without one.",
       "WxH|squash|none");
  command.option("--resize-shorter", resize_shorter_, "Resize the shorter side to N pixels")
      .placeholder("N")
      .check(whole_number(1, 16384))
      .group(kPreprocessingGroup);
  text("--letterbox", letterbox_, "Fit into this size and fill the border", "WxH");
  command.option("--fill", fill_, "Grey level of the letterbox border, 0 to 255")
      .placeholder("LEVEL")
      .check(whole_number(0, 255))
      .group(kPreprocessingGroup);
  text("--crop", crop_, "Cut out the centre after the resize; none: keep all", "N|WxH|none");
  text("--mean", mean_, "Mean per channel in pixel units, 0 to 255", "A,B,C");
  text("--std", std_, "Deviation per channel: x = (pixel - mean) / std", "A,B,C");
  text("--channels", channels_, "Order of the channels; mean and std stay with their colours",
       "ORDER")
      .one_of({"rgb", "bgr", "gray", "rgba", "bgra"});
  text("--layout", layout_, "Order of the input's axes", "LAYOUT").one_of({"nchw", "nhwc"});
  command.flag("--force", force_, "Use these flags even if they contradict what the model stores")
      .group(kPreprocessingGroup);
  std::vector<Company> flags;
  for (const char* flag : {"--preprocess", "--resize", "--resize-shorter", "--letterbox", "--fill",
                           "--crop", "--mean", "--std", "--channels", "--layout"}) {
    flags.push_back({flag, {}});
  }
  command.goes_with("--force", std::move(flags));
}

void PreprocessOptions::name_by_default(Preprocess preprocess, std::string source) {
  named_ = {std::move(preprocess), std::move(source)};
}

void PreprocessOptions::read() {
  if (!preprocess_.empty()) {
    const std::string_view kind = is_preprocess_file(preprocess_) ? "file" : "preset";
    named_ = {read_preprocess(preprocess_), to_text("of ", kind, " '", preprocess_, "'")};
  }
  for (const auto& [option, value] :
       {std::pair("--resize", &resize_), {"--letterbox", &letterbox_}, {"--crop", &crop_}}) {
    const bool is_word = *value == kNone || (value == &resize_ && *value == kSquashWord);
    if (!value->empty() && !is_word) static_cast<void>(parse_size(*value, option));
  }
  for (const auto& [option, value] : {std::pair("--mean", &mean_), {"--std", &std_}}) {
    if (!value->empty()) static_cast<void>(parse_floats(*value, option));
  }
  const int resizes = static_cast<int>(!resize_.empty()) +
                      static_cast<int>(resize_shorter_.has_value()) +
                      static_cast<int>(!letterbox_.empty());
  if (resizes > 1) {
    throw Error(ErrorCode::kUsage,
                "--resize, --resize-shorter and --letterbox exclude each other; give one");
  }
}

// A letterbox stays one, because a network that was trained with it does worse on squashed images.
void PreprocessOptions::apply_size(Preprocess& preprocess) const {
  if (resize_ == kNone) {
    preprocess.resize = ResizeMode::kNone;
  } else if (resize_ == kSquashWord) {
    if (preprocess.resize != ResizeMode::kLetterbox && preprocess.resize != ResizeMode::kSquash) {
      throw Error(ErrorCode::kUsage,
                  to_text("--resize squash: takes the size of a letterbox, the resize is '",
                          text_of(preprocess, PreprocessField::kResize), "'; give --resize WxH"));
    }
    preprocess.resize = ResizeMode::kSquash;
  } else if (!resize_.empty()) {
    if (preprocess.resize != ResizeMode::kLetterbox) preprocess.resize = ResizeMode::kSquash;
    std::tie(preprocess.resize_width, preprocess.resize_height) = parse_size(resize_, "--resize");
  }
}

void PreprocessOptions::apply_resize(Preprocess& preprocess) const {
  apply_size(preprocess);
  if (resize_shorter_) {
    preprocess.resize = ResizeMode::kShorterSide;
    preprocess.resize_shorter = *resize_shorter_;
  }
  if (!letterbox_.empty()) {
    preprocess.resize = ResizeMode::kLetterbox;
    std::tie(preprocess.resize_width, preprocess.resize_height) =
        parse_size(letterbox_, "--letterbox");
  }
  if (!fill_) return;
  if (preprocess.resize != ResizeMode::kLetterbox) {
    throw Error(ErrorCode::kUsage, to_text("--fill is the border of a letterbox, the resize is '",
                                           text_of(preprocess, PreprocessField::kResize), "'"));
  }
  preprocess.fill = static_cast<std::uint8_t>(*fill_);
}

// Mean and std are in the order in which channels are fed, so they are reordered with the colours.
void PreprocessOptions::apply_channels(const std::string& source, Preprocess& preprocess) const {
  const ChannelOrder before = preprocess.channels;
  preprocess.channels = channel_order_of(channels_);
  if (preprocess.channels == before) return;
  const std::int64_t channels = channels_of(preprocess.channels);
  const bool recounts = channels != channels_of(before);
  if (recounts && source == kAssumed) {
    const Preprocess units = assumed_units(preprocess.channels);
    preprocess.mean = units.mean;
    preprocess.std = units.std;
    return;
  }
  for (const PreprocessField field : {PreprocessField::kMean, PreprocessField::kStd}) {
    const bool given = !(field == PreprocessField::kMean ? mean_ : std_).empty();
    std::vector<float>& values = field == PreprocessField::kMean ? preprocess.mean : preprocess.std;
    const auto differs = [&](float value) { return value != values.front(); };
    if (given || std::none_of(values.begin(), values.end(), differs)) {
      if (recounts) values.resize(1);
    } else if (recounts) {
      throw Error(ErrorCode::kUsage,
                  to_text("--channels ", channels_, ": the ", name_of(field), " ",
                          text_of(preprocess, field), " of the preprocessing ", source, " is of ",
                          channels_of(before), " channels; give --", name_of(field)));
    } else {
      std::reverse(values.begin(), values.begin() + 3);  // alpha stays the last one
    }
  }
}

void PreprocessOptions::apply_flags(SourcedPreprocess& sourced) const {
  Preprocess& preprocess = sourced.preprocess;
  apply_resize(preprocess);
  if (crop_ == kNone) {
    preprocess.crop_width = preprocess.crop_height = 0;
  } else if (!crop_.empty()) {
    std::tie(preprocess.crop_width, preprocess.crop_height) = parse_size(crop_, "--crop");
  }
  if (!channels_.empty()) apply_channels(sourced.source, preprocess);
  if (!layout_.empty()) preprocess.layout = tensor_layout_of(layout_);
  if (!mean_.empty()) preprocess.mean = parse_floats(mean_, "--mean");
  if (!std_.empty()) preprocess.std = parse_floats(std_, "--std");
}

std::string PreprocessOptions::flags_for(PreprocessField field) const {
  const auto if_given = [](const std::string& value, const char* flag) {
    return std::string(value.empty() ? "" : flag);
  };
  switch (field) {
    case PreprocessField::kResize:
      if (resize_shorter_) return "--resize-shorter";
      if (!letterbox_.empty()) return "--letterbox";
      return fill_ ? "--fill" : if_given(resize_, "--resize");
    case PreprocessField::kCrop:
      return if_given(crop_, "--crop");
    case PreprocessField::kLayout:
      return if_given(layout_, "--layout");
    case PreprocessField::kMean:
      if (!mean_.empty()) return "--mean";
      break;
    case PreprocessField::kStd:
      if (!std_.empty()) return "--std";
      break;
    case PreprocessField::kChannels:
      break;
  }
  return if_given(channels_, "--channels");
}

std::string PreprocessOptions::assumed_fields() const {
  std::string fields;
  for (const PreprocessField field : {PreprocessField::kResize, PreprocessField::kChannels,
                                      PreprocessField::kMean, PreprocessField::kStd}) {
    // --channels does not give a mean and std, so these stay assumed.
    const bool turned = field == PreprocessField::kMean  ? mean_.empty()
                        : field == PreprocessField::kStd ? std_.empty()
                                                         : false;
    if (!turned && !flags_for(field).empty()) continue;
    fields += to_text(fields.empty() ? "" : ", ", name_of(field));
  }
  return fields;
}

std::optional<SourcedPreprocess> PreprocessOptions::choose_for(
    const SampleOptions& samples, const std::optional<StoredPreprocess>& stored,
    const Graph& graph) const {
  if (!samples.inputs.empty()) return std::nullopt;
  return choose(stored, graph);
}

SourcedPreprocess PreprocessOptions::choose(const std::optional<StoredPreprocess>& stored,
                                            const Graph& graph) const {
  const InputGeometry geometry = geometry_of(graph);
  SourcedPreprocess chosen;
  Preprocess said;  // before sizes are filled in and flags applied
  if (named_) {
    chosen.source = named_->source;
    said = chosen.preprocess = named_->preprocess;
    if (!preprocess_.empty()) fit_letterbox(preprocess_, graph, chosen.preprocess);
    fill_layout(geometry, chosen.preprocess);
    apply_flags(chosen);
    if (resize_ != kNone) fill_size(geometry, chosen.preprocess);
  } else {
    chosen.source = stored ? to_text("stored in ", stored->where) : std::string(kAssumed);
    said = chosen.preprocess = stored ? stored->preprocess : assumed(geometry);
    fill_layout(geometry, chosen.preprocess);
    fill_size(geometry, chosen.preprocess);
    apply_flags(chosen);
  }
  check(chosen.preprocess);
  for (const PreprocessField field : differences(said, chosen.preprocess)) {
    const std::string flags = flags_for(field);
    chosen.changes.push_back({field, flags.empty() ? "the network's input" : flags});
  }
  note(text_of(chosen));
  if (stored) {
    Preprocess expected = stored->preprocess;
    fill_layout(geometry, expected);
    fill_size(geometry, expected);
    std::string difference;
    for (const PreprocessField field : differences(expected, chosen.preprocess)) {
      difference +=
          to_text(difference.empty() ? "" : "; ", name_of(field), " ",
                  text_of(chosen.preprocess, field), " instead of ", text_of(expected, field));
    }
    if (!difference.empty()) {
      difference = to_text("preprocessing: other than stored in ", stored->where, ": ", difference);
      if (!force_) {
        throw Error(ErrorCode::kMismatch,
                    to_text(difference, "; leave the flags out or give --force"));
      }
      warning(to_text(difference, "; the flags are used because of --force"));
    }
  }
  if (chosen.source == kAssumed) {
    chosen.assumed = assumed_fields();
    if (!chosen.assumed.empty()) {
      const bool several = chosen.assumed.find(',') != std::string::npos;
      warning(to_text("no preprocessing is stored or named; assumed without knowing: ",
                      chosen.assumed, ". Name what the network was trained with by ",
                      chosen.asked_option(), several ? " or flags" : ""));
    }
  }
  if (const std::optional<std::string> doubt = doubtful(chosen.preprocess)) warning(*doubt);
  return chosen;
}

}  // namespace qtool::tool
