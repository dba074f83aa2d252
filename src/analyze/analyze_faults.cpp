// Describes what is wrong with the worst sources, if the reason is known.
#include "base/text.h"
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

/// Whether values go beyond an end of the range by more than kFarBeyond of its width.
bool reaches_beyond(const Range& seen, const Range& range) {
  const double far = kFarBeyond * (static_cast<double>(range.max) - range.min);
  return seen.max > range.max + far || seen.min < range.min - far;
}

std::string range_text(const Range& range) {
  return to_text(to_fixed(static_cast<double>(range.min), 2), " to ",
                 to_fixed(static_cast<double>(range.max), 2));
}

std::string percent_text(double share) { return to_text(to_fixed(100.0 * share, 1), " %"); }

}  // namespace

std::vector<std::string> AnalyzeResult::faults() const {
  std::vector<std::string> sentences;
  for (const ErrorSource& source : sources) {
    if (source.share < kWorthASentence) continue;
    if (source.kind == SourceKind::kBias) {
      sentences.push_back(to_text("the bias of layer '", source.name, "' makes ",
                                  percent_text(source.share),
                                  " of the noise: it is another one than the FP32 model's"));
    }
    if (source.kind != SourceKind::kActivation) continue;
    const bool input = source.node.empty();
    std::string text = to_text(input ? "input '" : "tensor '", source.name, "' makes ",
                               percent_text(source.share), " of the noise: ");
    if (source.saturated_share >= kManyClipped && reaches_beyond(source.seen, source.range)) {
      text += to_text(percent_text(source.saturated_share),
                      " of its values are clipped, it reaches ", range_text(source.seen),
                      " on these images and the INT8 model holds ", range_text(source.range));
      if (input) text += "; is the preprocessing that of the calibration?";
    } else if (source.used_share < kLittleUsed) {
      text += to_text("it uses ", percent_text(source.used_share), " of its integers, it reaches ",
                      range_text(source.seen), " on these images and the INT8 model holds ",
                      range_text(source.range));
    } else if (source.median_peak > 0.0 && source.loudest_peak >= kFarLarger * source.median_peak) {
      text += to_text("its channel ", source.loudest_channel, " reaches ",
                      to_fixed(source.loudest_peak, 2), ", the median of its ", source.channels,
                      " channels ", to_fixed(source.median_peak, 2), ", and all share one scale");
    } else {
      continue;
    }
    sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace qtool
