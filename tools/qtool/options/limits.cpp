#include "options/limits.h"

#include <cmath>
#include <string>

#include "base/text.h"
#include "cli/value_checks.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr const char* kLimits = "Limits";
constexpr double kRoundingOfPercent = 1e-9;  // in floating point, 100 * 0.58 is less than 58

/// A figure, if the result has it.
using Figure = std::optional<double>;

Figure percent_figure(std::int64_t part, std::int64_t total) {
  if (total == 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(total);
}

Figure worst_pooled_sqnr(const EvalResult& result) {
  const OutputError* worst = result.worst_pooled_output();
  if (worst == nullptr || std::isnan(worst->pooled_sqnr_db)) return std::nullopt;
  return worst->pooled_sqnr_db;
}

Figure boxes_kept(const EvalResult& result) {
  const std::optional<BoxMatch> match = result.answers.judged_boxes();
  return match ? percent_figure(match->kept, match->fp32) : std::nullopt;
}

/// Collects the limits that are missed.
class Misses {
 public:
  /// `sign`: 1 for a figure that must be `limit` or more, -1 for one that must be `limit` or less.
  void check(const char* option, const std::optional<double>& limit, const Figure& figure,
             const char* name, const char* unit, const char* needs, double sign = 1.0) {
    if (!limit) return;
    if (!figure) throw Error(ErrorCode::kUsage, to_text(option, ": ", needs));
    if (sign * (*figure - *limit) >= -kRoundingOfPercent) return;
    text_ += to_text(text_.empty() ? "" : "; ", name, " is ", to_fixed(*figure, 2), unit,
                     ", expected ", *limit, unit, sign > 0.0 ? " or more" : " or less");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

void LimitOptions::add_to(Command& command) {
  const auto add = [&](const char* name, std::optional<double>& value, const char* unit,
                       const Check& check, const char* help) {
    command.option(name, value, help).placeholder(unit).check(check).group(kLimits);
  };
  add("--min-agreement", min_agreement_, "PERCENT", percentage(),
      "Fail if INT8 gives FP32's class for fewer of the images");
  add("--min-top1", min_top1_, "PERCENT", percentage(),
      "Fail if top-1 is lower\nOf INT8 or, without --int8, of FP32.");
  add("--max-top1-drop", max_top1_drop_, "POINTS", percentage(),
      "Fail if INT8 loses more points of top-1");
  add("--min-sqnr", min_sqnr_, "DB", decibels(),
      "Fail if an output has fewer dB against FP32\nThe pooled SQNR, as quantize and auto judge.");
  add("--min-boxes-kept", min_boxes_kept_, "PERCENT", percentage(),
      "Fail if INT8 keeps fewer of FP32's boxes\nFrom the lowest --box-score on, at IoU 0.7.");
  for (const char* option : {"--min-agreement", "--max-top1-drop", "--min-sqnr"}) {
    command.goes_with(option, {{"--int8", {}}});
  }
  command.goes_with("--min-boxes-kept", {{"--boxes", {}}});
}

void LimitOptions::require(const EvalResult& result) const {
  constexpr const char* kNoLabels =
      "no image has a known class, or the network has no score per class";
  const ModelScore& judged = result.int8 ? *result.int8 : result.fp32;
  Misses misses;
  misses.check("--min-agreement", min_agreement_,
               percent_figure(result.agreement, result.classes > 0 ? result.images : 0),
               "agreement", " %", "the network has no score per class");
  misses.check("--min-top1", min_top1_, percent_figure(judged.top1, result.labelled), "top-1", " %",
               kNoLabels);
  misses.check("--max-top1-drop", max_top1_drop_,
               percent_figure(result.fp32.top1 - judged.top1, result.labelled), "the loss of top-1",
               " points", kNoLabels, -1.0);
  misses.check("--min-sqnr", min_sqnr_, worst_pooled_sqnr(result),
               "the lowest pooled SQNR of an output", " dB", "no output of floats was compared");
  misses.check("--min-boxes-kept", min_boxes_kept_, boxes_kept(result), "the share of boxes kept",
               " %", "FP32 finds no box");
  if (!misses.text().empty()) throw Error(ErrorCode::kMismatch, misses.text());
}

}  // namespace qtool::tool
