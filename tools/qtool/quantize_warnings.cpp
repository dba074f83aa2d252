#include "quantize_warnings.h"

#include <cstddef>
#include <vector>

#include "base/text.h"
#include "console.h"
#include "report/quantization.h"

namespace qtool::tool {
namespace {

// The first few names of a list.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    text += to_text(i == 0 ? "'" : ", '", names[i], "'");
  }
  return names.size() > kMaxNamed ? to_text(text, " and ", names.size() - kMaxNamed, " more")
                                  : text;
}

}  // namespace

void print_pairs(const PairChoice& pairs, std::string_view noun) {
  const std::string cost = text_of(pairs, noun);
  if (pairs.is_limited) {
    note(to_text("pairs of weights: limited for processors without VNNI, costs ", cost));
    return;
  }
  warning(to_text(pairs.saturating_pairs,
                  " pairs of weights may saturate in ONNX Runtime on processors without VNNI: "
                  "limiting them would cost ",
                  cost, "; --weight-pairs limited does it"));
}

void print_function_pairs(const FunctionPairs& pairs, std::string_view noun) {
  constexpr double kNextToNothing = 0.05;
  if (pairs.share() >= kNextToNothing) note(text_of(pairs, noun));
}

void warn_of_pairs(const QuantizeReport& report, std::optional<WeightPairs> chosen) {
  if (report.saturating_pairs == 0 || chosen) return;
  warning(to_text(report.saturating_pairs,
                  " pairs of weights may saturate in ONNX Runtime on processors without VNNI; "
                  "--weight-pairs limited or --weight-bits 7 avoids it"));
}

void warn_of(const QuantizeReport& report, const std::string& table) {
  if (!report.non_finite.empty()) {
    warning(to_text("NaN or infinite values in ", some_of(report.non_finite),
                    ": their layers stay in FP32, and what they compute is unlikely to be of use"));
  }
  for (const RewriteReport& rewrite : report.rewrites) {
    if (rewrite.tensors > 0) continue;
    warning(to_text("--", rewrite.rewrite, " changes nothing: ", rewrite.reason));
  }
  if (!report.nearest_layers.empty()) {
    warning(to_text("--weight-rounding: the weights of ", report.nearest_layers.size(),
                    " layers are rounded to nearest, because what they multiply does not fit into "
                    "--rounding-memory or cannot be read: ",
                    some_of(report.nearest_layers)));
  }
  if (!report.not_wide.empty()) {
    warning(to_text("--wide changes nothing for ", report.not_wide.size(),
                    " tensors, which no layer on integers reads or which have elements of other "
                    "tensors of 8 bits: ",
                    some_of(report.not_wide)));
  }
  if (!report.missing_ranges.empty()) {
    warning(to_text("table '", table, "' has no range for ", report.missing_ranges.size(),
                    " of the tensors that would be integers: ", some_of(report.missing_ranges),
                    "; what reads or makes them stays in FP32"));
  }
}

void warn_of_noise(const Verification& measured, bool learned_from) {
  constexpr double kNoisyDb = 10.0;
  for (const OutputError& output : measured.outputs) {
    if (!Verification::judges(output) || !(output.pooled_sqnr_db < kNoisyDb)) continue;
    warning(to_text("output '", output.name, "' has a pooled SQNR of ",
                    to_fixed(output.pooled_sqnr_db, 2), " dB against FP32 on ", measured.samples,
                    " ", measured.noun, measured.samples == 1 ? "" : "s",
                    learned_from ? " (which it also learned from)" : "",
                    ": its noise has more than a tenth of its power; qtool eval says what becomes "
                    "of the answers, qtool analyze where the noise is made"));
  }
}

}  // namespace qtool::tool
