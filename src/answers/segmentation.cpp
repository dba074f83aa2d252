#include "answers/segmentation.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

double ClassPixels::iou() const {
  const std::int64_t either = fp32 + int8 - both;
  return either > 0 ? static_cast<double>(both) / static_cast<double>(either) : 0.0;
}

std::optional<double> MaskAgreement::mean_iou() const {
  if (classes.empty()) return std::nullopt;
  double sum = 0.0;
  for (const ClassPixels& one : classes) sum += one.iou();
  return sum / static_cast<double>(classes.size());
}

MaskReader::MaskReader(const MaskRule& rule, const PortInfo& output, ChannelAxis axis)
    : rule_(rule) {
  const Shape& shape = output.shape;
  const auto fail = [&](std::string_view expected) {
    throw Error(ErrorCode::kMismatch, to_text("output '", output.name, "' has shape ",
                                              shape.to_string(), ", expected ", expected));
  };
  const bool first = axis == ChannelAxis::kFirst;
  if ((shape.rank() != 3 && shape.rank() != 4) || shape.elements() == 0) {
    fail(first ? "a map [batch, channels, height, width]"
               : "a map [batch, height, width, channels]");
  }
  const bool has_channels = shape.rank() == 4;
  const std::int64_t rows_axis = has_channels && first ? 2 : 1;
  height_ = shape[rows_axis];
  width_ = shape[rows_axis + 1];
  channels_ = has_channels ? shape[first ? 1 : 3] : 1;
  pixel_step_ = first ? 1 : channels_;
  channel_step_ = first ? height_ * width_ : 1;
  if (rule_.threshold && channels_ != 1) fail("one channel, which a threshold needs");
  if (!rule_.threshold && channels_ == 1) fail("several channels; one channel needs a threshold");
}

Mask MaskReader::read(std::span<const float> output) const {
  const std::int64_t pixels = height_ * width_;
  if (std::ssize(output) != pixels * channels_) {
    throw Error(ErrorCode::kMismatch,
                to_text("a map holds ", output.size(), " numbers, expected ", pixels * channels_));
  }
  Mask mask{width_, height_, std::vector<std::int32_t>(static_cast<std::size_t>(pixels))};
  for (std::int64_t i = 0; i < pixels; ++i) {
    const float* pixel = output.data() + i * pixel_step_;
    std::int32_t label = -1;
    if (rule_.threshold) {
      if (!std::isnan(*pixel)) label = static_cast<double>(*pixel) >= *rule_.threshold ? 1 : 0;
    } else {
      float highest = 0.0F;
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float x = pixel[c * channel_step_];
        if (std::isnan(x) || (label >= 0 && x <= highest)) continue;
        highest = x;
        label = static_cast<std::int32_t>(c);
      }
    }
    mask.labels[static_cast<std::size_t>(i)] = label;
  }
  return mask;
}

MaskAgreement MaskScorer::add(const Mask& fp32, const Mask& int8) {
  if (fp32.labels.size() != int8.labels.size()) {
    throw Error(ErrorCode::kMismatch, to_text("maps of ", fp32.labels.size(), " and ",
                                              int8.labels.size(), " pixels, expected equal sizes"));
  }
  MaskScorer image;
  image.sums_.images = 1;
  image.sums_.pixels = std::ssize(fp32.labels);
  // Neighbouring pixels mostly have the same classes, so a run of equal pairs needs only one
  // look-up.
  for (std::size_t begin = 0, end = 0; begin < fp32.labels.size(); begin = end) {
    const std::int32_t a = fp32.labels[begin];
    const std::int32_t b = int8.labels[begin];
    while (end < fp32.labels.size() && fp32.labels[end] == a && int8.labels[end] == b) ++end;
    const auto count = static_cast<std::int64_t>(end - begin);
    if (a >= 0) image.classes_[a].fp32 += count;
    if (b >= 0) image.classes_[b].int8 += count;
    if (a != b || a < 0) continue;  // two pixels without a class do not count as equal
    image.sums_.equal += count;
    image.classes_[a].both += count;
  }
  *this += image;
  return image.result();
}

MaskScorer& MaskScorer::operator+=(const MaskScorer& other) {
  sums_.images += other.sums_.images;
  sums_.pixels += other.sums_.pixels;
  sums_.equal += other.sums_.equal;
  for (const auto& [label, pixels] : other.classes_) {
    ClassPixels& mine = classes_[label];
    mine.fp32 += pixels.fp32;
    mine.int8 += pixels.int8;
    mine.both += pixels.both;
  }
  return *this;
}

MaskAgreement MaskScorer::result() const {
  MaskAgreement agreement = sums_;
  agreement.classes.reserve(classes_.size());
  for (const auto& [label, pixels] : classes_) {
    agreement.classes.push_back(pixels);
    agreement.classes.back().label = label;
  }
  return agreement;
}

}  // namespace qtool
