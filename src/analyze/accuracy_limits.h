#pragma once

#include <cstdint>
#include <optional>

#include "analyze/next_step.h"
#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"

namespace qtool {

/// Fewer samples are too few to set ranges, or for an interval that decides.
inline constexpr std::int64_t kFewSamples = 16;

/// The advice where INT8 is not surely accurate enough; nullopt where it is. The purpose of the
/// network decides what is judged: the boxes, pixels or classes that INT8 keeps, or else the noise
/// of the outputs. The whole interval of a figure must reach its limit.
std::optional<Advice> accuracy_advice(const EvalResult& compared);

/// The goal of `advice` for a search on samples whose classes are known or not. A goal of top-1
/// accuracy needs known classes; without them, the limit of the agreement takes its place.
CommandWords search_goal(const Advice& advice, bool knows_classes);

/// Whether a changed model keeps enough of FP32's boxes or, without boxes, of its pixels: whether
/// the whole interval of each figure that advise() judges reaches its limit. false without an
/// interval, and where neither boxes nor pixels were compared.
bool keeps_enough(const KeptAnswers& answers);

}  // namespace qtool
