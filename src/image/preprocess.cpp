#include "qtool/image/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

template <typename Value>
struct Named {
  Value value;
  std::string_view name;
};

constexpr std::array kModes = {
    Named<ResizeMode>{ResizeMode::kNone, "none"},
    Named<ResizeMode>{ResizeMode::kSquash, "squash"},
    Named<ResizeMode>{ResizeMode::kShorterSide, "shorter"},
    Named<ResizeMode>{ResizeMode::kLetterbox, "letterbox"},
};
constexpr std::array kOrders = {
    Named<ChannelOrder>{ChannelOrder::kRgb, "rgb"},
    Named<ChannelOrder>{ChannelOrder::kBgr, "bgr"},
    Named<ChannelOrder>{ChannelOrder::kGray, "gray"},
    Named<ChannelOrder>{ChannelOrder::kRgba, "rgba"},
    Named<ChannelOrder>{ChannelOrder::kBgra, "bgra"},
};
constexpr std::array kLayouts = {
    Named<TensorLayout>{TensorLayout::kNchw, "nchw"},
    Named<TensorLayout>{TensorLayout::kNhwc, "nhwc"},
};

template <typename Rows, typename Value>
std::string_view find_name(const Rows& rows, Value value) {
  for (const auto& row : rows) {
    if (row.value == value) return row.name;
  }
  return "?";
}

template <typename Rows>
auto find_value(const Rows& rows, std::string_view name, std::string_view what) {
  std::string names;
  for (const auto& row : rows) {
    if (row.name == name) return row.value;
    names += to_text(names.empty() ? "" : ", ", row.name);
  }
  throw Error(ErrorCode::kUsage, to_text(what, " '", name, "' is unknown, expected ", names));
}

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::kUsage, to_text("preprocessing: ", what));
}

bool uses_size(ResizeMode mode) {
  return mode == ResizeMode::kSquash || mode == ResizeMode::kLetterbox;
}

std::size_t channels_of(const Preprocess& preprocess) {
  return static_cast<std::size_t>(channels_of(preprocess.channels));
}

void check_side(std::int64_t pixels, std::string_view what) {
  if (pixels < 1 || pixels > kMaxPreprocessSide) {
    refuse(to_text(what, " is ", pixels, " pixels, expected 1 to ", kMaxPreprocessSide));
  }
}

void check_count(std::size_t count, std::size_t channels, std::string_view what) {
  if (count == 1 || count == channels) return;
  refuse(to_text(what, " has ", count, " values, expected 1",
                 channels == 1 ? std::string(": the image is gray") : to_text(" or ", channels)));
}

// One value for each channel, so that one number and three equal ones compare equal.
std::vector<float> per_channel(const std::vector<float>& values, std::size_t channels) {
  return values.size() == 1 ? std::vector<float>(channels, values.front()) : values;
}

std::string list(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) text += to_text(text.empty() ? "" : ",", value);
  return text;
}

std::string resize_text(const Preprocess& p) {
  std::string text(name_of(p.resize));
  if (p.resize == ResizeMode::kShorterSide) text += to_text(" ", p.resize_shorter);
  if (uses_size(p.resize)) text += to_text(" ", p.resize_width, "x", p.resize_height);
  if (p.resize == ResizeMode::kLetterbox) text += to_text(" fill ", int{p.fill});
  return text;
}

void copy_resize(const Preprocess& from, Preprocess& to) {
  to.resize = from.resize;
  to.resize_width = from.resize_width;
  to.resize_height = from.resize_height;
  to.resize_shorter = from.resize_shorter;
  to.fill = from.fill;
}

std::string crop_text(const Preprocess& p) {
  return p.crop_width == 0 ? "none" : to_text(p.crop_width, "x", p.crop_height);
}

void copy_crop(const Preprocess& from, Preprocess& to) {
  to.crop_width = from.crop_width;
  to.crop_height = from.crop_height;
}

// A field that corresponds to one member.
template <auto kMember>
void copy_member(const Preprocess& from, Preprocess& to) {
  to.*kMember = from.*kMember;
}
template <auto kMember>
std::string name_text(const Preprocess& p) {
  return std::string(name_of(p.*kMember));
}
template <auto kMember>
std::string list_text(const Preprocess& p) {
  return list(p.*kMember);
}

struct Field {
  std::string_view name;
  void (*copy)(const Preprocess& from, Preprocess& to);
  std::string (*text)(const Preprocess& preprocess);
};

// In the order of PreprocessField.
constexpr std::array<Field, 6> kFields = {{
    {"resize", copy_resize, resize_text},
    {"crop", copy_crop, crop_text},
    {"channels", copy_member<&Preprocess::channels>, name_text<&Preprocess::channels>},
    {"layout", copy_member<&Preprocess::layout>, name_text<&Preprocess::layout>},
    {"mean", copy_member<&Preprocess::mean>, list_text<&Preprocess::mean>},
    {"std", copy_member<&Preprocess::std>, list_text<&Preprocess::std>},
}};

const Field& row_of(PreprocessField field) { return kFields[static_cast<std::size_t>(field)]; }

}  // namespace

std::string_view name_of(ResizeMode mode) noexcept { return find_name(kModes, mode); }
std::string_view name_of(ChannelOrder order) noexcept { return find_name(kOrders, order); }
std::string_view name_of(TensorLayout layout) noexcept { return find_name(kLayouts, layout); }

ResizeMode resize_mode_of(std::string_view name) { return find_value(kModes, name, "resize mode"); }
ChannelOrder channel_order_of(std::string_view name) {
  return find_value(kOrders, name, "channel order");
}
TensorLayout tensor_layout_of(std::string_view name) {
  return find_value(kLayouts, name, "tensor layout");
}

std::int64_t channels_of(ChannelOrder order) noexcept {
  if (order == ChannelOrder::kGray) return 1;
  return alpha_of(order) == Alpha::kKeep ? 4 : 3;
}

Alpha alpha_of(ChannelOrder order) noexcept {
  const bool has_alpha = order == ChannelOrder::kRgba || order == ChannelOrder::kBgra;
  return has_alpha ? Alpha::kKeep : Alpha::kDrop;
}

bool operator==(const Preprocess& a, const Preprocess& b) {
  if (a.resize != b.resize || a.channels != b.channels || a.layout != b.layout) return false;
  if (uses_size(a.resize) &&
      (a.resize_width != b.resize_width || a.resize_height != b.resize_height)) {
    return false;
  }
  if (a.resize == ResizeMode::kShorterSide && a.resize_shorter != b.resize_shorter) return false;
  if (a.resize == ResizeMode::kLetterbox && a.fill != b.fill) return false;
  const std::size_t channels = channels_of(a);
  return a.crop_width == b.crop_width && a.crop_height == b.crop_height &&
         per_channel(a.mean, channels) == per_channel(b.mean, channels) &&
         per_channel(a.std, channels) == per_channel(b.std, channels);
}

void check(const Preprocess& preprocess) {
  const Preprocess& p = preprocess;
  if (uses_size(p.resize)) {
    check_side(p.resize_width, to_text(name_of(p.resize), " width"));
    check_side(p.resize_height, to_text(name_of(p.resize), " height"));
  }
  if (p.resize == ResizeMode::kShorterSide) check_side(p.resize_shorter, "the shorter side");
  if (p.crop_width != 0 || p.crop_height != 0) {
    if (p.resize == ResizeMode::kLetterbox) refuse("a letterbox keeps the whole image, no crop");
    check_side(p.crop_width, "the crop's width");
    check_side(p.crop_height, "the crop's height");
    const bool sized = uses_size(p.resize);
    // The image decides which side is the shorter one, so both sides of the crop must fit the
    // shorter side.
    const std::int64_t width = sized ? p.resize_width : p.resize_shorter;
    const std::int64_t height = sized ? p.resize_height : p.resize_shorter;
    if (p.resize != ResizeMode::kNone && (p.crop_width > width || p.crop_height > height)) {
      refuse(to_text("the crop of ", p.crop_width, "x", p.crop_height,
                     " pixels is larger than the resized image, ", width, "x", height));
    }
  }
  const std::size_t channels = channels_of(p);
  check_count(p.mean.size(), channels, "mean");
  check_count(p.std.size(), channels, "std");
  for (const float mean : p.mean) {
    if (!std::isfinite(mean)) refuse(to_text("mean holds ", mean, ", expected a finite number"));
  }
  for (const float std : p.std) {
    if (!std::isfinite(std) || std <= 0.0F) {
      refuse(to_text("std holds ", std, ", expected a finite number above 0"));
    }
  }
}

std::optional<std::string> doubtful(const Preprocess& preprocess) {
  const std::vector<float>& mean = preprocess.mean;
  const std::vector<float>& std = preprocess.std;
  const auto within_one = [](float value) { return std::abs(value) <= 1.0F; };
  const auto is_zero = [](float value) { return value == 0.0F; };
  if (std::all_of(mean.begin(), mean.end(), within_one) &&
      !std::all_of(mean.begin(), mean.end(), is_zero)) {
    return to_text("mean ", list(mean),
                   " looks like units of 0 to 1, but pixels run from 0 to 255: multiply it by 255");
  }
  if (std::any_of(std.begin(), std.end(), [](float value) { return value < 0.1F; })) {
    return to_text("std ", list(std),
                   " looks like a factor, but pixels are divided by it: give its reciprocal");
  }
  if (std::any_of(std.begin(), std.end(), [](float value) { return value < 1.0F; })) {
    return to_text("std ", list(std),
                   " looks like units of 0 to 1, but pixels run from 0 to 255: multiply it by 255");
  }
  if (std::any_of(mean.begin(), mean.end(), [](float value) { return value > 255.0F; })) {
    return to_text("mean ", list(mean), " is beyond the largest pixel, 255");
  }
  return std::nullopt;
}

std::span<const PreprocessField> preprocess_fields() noexcept {
  static constexpr std::array kAll = {PreprocessField::kResize,   PreprocessField::kCrop,
                                      PreprocessField::kChannels, PreprocessField::kLayout,
                                      PreprocessField::kMean,     PreprocessField::kStd};
  return kAll;
}

std::string_view name_of(PreprocessField field) noexcept { return row_of(field).name; }

std::string text_of(const Preprocess& preprocess, PreprocessField field) {
  return row_of(field).text(preprocess);
}

std::vector<PreprocessField> differences(const Preprocess& a, const Preprocess& b) {
  std::vector<PreprocessField> fields;
  for (const PreprocessField field : preprocess_fields()) {
    Preprocess changed = a;
    row_of(field).copy(b, changed);
    if (!(changed == a)) fields.push_back(field);
  }
  return fields;
}

}  // namespace qtool
