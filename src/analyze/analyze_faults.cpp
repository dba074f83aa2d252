// Describes what is wrong with the worst sources.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/percent.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "qtool/analyze/analyze.h"

namespace qtool {
namespace {

/// A source with a smaller share of the noise gets no sentence.
constexpr double kWorthASentence = 0.1;
/// Methods clip a few values of a long tail on purpose. A smaller share is no fault.
constexpr double kManyClipped = 0.005;
/// Values half a step beyond the last integer already count as clipped. So values must reach this
/// share of the range's width beyond an end.
constexpr double kFarBeyond = 0.1;
constexpr double kLittleUsed = 0.25;
constexpr double kFarLarger = 16.0;
/// For a range that only few values need: 99.9 % of the values lie in this share of it.
constexpr double kFewNeedIt = 0.6;
/// A tensor with so much less SQNR at the outputs than by itself is magnified by the layers behind.
constexpr double kMagnifiedDb = 3.0;
/// One channel of weights that has this share of their rounding error is worth naming.
constexpr double kMostOfIt = 0.5;

double width_of(const Range& range) { return static_cast<double>(range.max) - range.min; }

/// Whether values go beyond an end of the range by more than kFarBeyond of its width.
bool reaches_beyond(const Range& seen, const Range& range) {
  const double far = kFarBeyond * width_of(range);
  return seen.max > range.max + far || seen.min < range.min - far;
}

std::string number_text(double value) { return to_fixed(value, 2); }

std::string range_text(const Range& range) {
  return to_text(number_text(static_cast<double>(range.min)), " to ",
                 number_text(static_cast<double>(range.max)));
}

std::string decibel_text(double db) { return to_text(to_fixed(db, 1), " dB"); }

std::string reason_of_activation(const ErrorSource& source) {
  if (source.saturated_share >= kManyClipped && reaches_beyond(source.seen, source.range)) {
    return to_text(percent(source.saturated_share, 1), " of its values are clipped, it reaches ",
                   range_text(source.seen), " on these images and the INT8 model holds ",
                   range_text(source.range),
                   source.node.empty() ? "; is the preprocessing that of the calibration?" : "");
  }
  if (source.used_share < kLittleUsed) {
    return to_text("it uses ", percent(source.used_share, 1), " of its integers, it reaches ",
                   range_text(source.seen), " on these images and the INT8 model holds ",
                   range_text(source.range));
  }
  if (source.median_peak > 0.0 && source.loudest_peak >= kFarLarger * source.median_peak) {
    return to_text("its channel ", source.loudest_channel, " reaches ",
                   number_text(source.loudest_peak), ", the median of its ", source.channels,
                   " channels ", number_text(source.median_peak), ", and all share one scale");
  }
  if (width_of(source.central) < kFewNeedIt * width_of(source.range)) {
    return to_text("its range is wide for what it holds: 99.9 % of its values lie in ",
                   range_text(source.central), ", and the INT8 model holds ",
                   range_text(source.range));
  }
  if (source.sqnr_db < source.local_sqnr_db - kMagnifiedDb) {
    return to_text("the layers behind it magnify its rounding, which has ",
                   decibel_text(source.local_sqnr_db), " in the tensor and ",
                   decibel_text(source.sqnr_db), " at the outputs");
  }
  return to_text("its range fits its values, but 8 bits are coarse for it: it has ",
                 decibel_text(source.local_sqnr_db), " by itself");
}

double peak_of(const Range& reached) {
  return std::max(std::abs(static_cast<double>(reached.min)),
                  std::abs(static_cast<double>(reached.max)));
}

std::string reason_of_weights(const ErrorSource& source) {
  std::string text;
  if (source.depthwise) {
    text = to_text("it is a depthwise convolution, which has only ", source.filter,
                   " weights of one channel to average their rounding");
  }
  const std::vector<WeightChannel>& channels = source.weight_channels;
  if (channels.size() > 1) {
    const auto worst = static_cast<std::size_t>(
        std::ranges::max_element(channels, {}, &WeightChannel::error_share) - channels.begin());
    std::vector<double> peaks;
    for (const WeightChannel& channel : channels) peaks.push_back(peak_of(channel.reached));
    if (channels[worst].error_share >= kMostOfIt) {
      text += to_text(text.empty() ? "" : "; ", "its channel ", worst, " has ",
                      percent(channels[worst].error_share, 1),
                      " of their rounding error, with weights up to ", number_text(peaks[worst]),
                      ", where the median of its ", channels.size(), " channels reaches ",
                      number_text(median(peaks)));
    }
  }
  if (text.empty()) {
    text = to_text("no channel stands out, the output is sensitive to all of them",
                   channels.empty() ? "" : to_text(" (", channels.size(), ")"));
  }
  if (source.corrected > source.noise) {
    text += "; without the correction of its bias it would be more";
  }
  return text;
}

}  // namespace

std::vector<std::string> AnalyzeResult::faults() const {
  std::vector<std::string> sentences;
  for (const ErrorSource& source : sources) {
    if (!(source.share >= kWorthASentence)) continue;
    const auto sentence = [&](std::string_view what, std::string_view makes,
                              const std::string& reason) {
      sentences.push_back(to_text(what, " '", source.name, "' ", makes, " ",
                                  percent(source.share, 1), " of the noise: ", reason));
    };
    switch (source.kind) {
      case SourceKind::kBias:
        sentence("the bias of layer", "makes", "it is another one than the FP32 model's");
        break;
      case SourceKind::kWeights:
        sentence("the weights of layer", "make", reason_of_weights(source));
        break;
      case SourceKind::kActivation:
        sentence(source.node.empty() ? "input" : "tensor", "makes", reason_of_activation(source));
        break;
    }
  }
  return sentences;
}

}  // namespace qtool
