#include "analyze/agreement.h"

#include <algorithm>

namespace qtool {
namespace {

// The smaller of two numbers: the share of FP32's boxes that are kept, and 1 minus (added boxes /
// FP32's boxes).
std::optional<double> agreement_of(const BoxMatch& match) {
  if (match.fp32 == 0) return match.int8 == 0 ? std::nullopt : std::optional(0.0);
  const auto all = static_cast<double>(match.fp32);
  return std::min(static_cast<double>(match.kept) / all,
                  1.0 - static_cast<double>(match.added()) / all);
}

}  // namespace

std::optional<double> equal_pixels_of(const AnswerAgreement& answers) {
  if (!answers.mask || answers.mask->pixels == 0) return std::nullopt;
  return static_cast<double>(answers.mask->equal) / static_cast<double>(answers.mask->pixels);
}

std::optional<double> agreement_of(const AnswerAgreement& answers) {
  std::optional<double> lowest;
  if (const std::optional<BoxMatch> boxes = answers.judged_boxes()) lowest = agreement_of(*boxes);
  const std::optional<double> pixels = equal_pixels_of(answers);
  return pixels ? std::min(lowest.value_or(1.0), *pixels) : lowest;
}

}  // namespace qtool
