#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"

namespace qtool {

/// The words of a command line, the program first.
using CommandWords = std::vector<std::string>;

/// The option that says these fields of the preprocessing, such as `channels` or `mean, std`. The
/// option of a single field is called like the field, and the resize has two.
std::string option_for_fields(std::string_view fields);

/// The figures of a model that `auto` made, or that `analyze` makes a page of.
struct FirstFigures {
  std::optional<std::int64_t> calibrated_on{};  ///< number of samples; nullopt if it is not known
  std::string assumed{};  ///< the fields of the preprocessing that nothing says
  /// Number of functions of one element, such as SiLU, that target `qtool` would run on integers
  /// but the target of the model does not.
  std::int64_t functions_left = 0;
  double integer_share = 0.0;  ///< of the multiplications
  const EvalResult& compared;  ///< INT8 with FP32
};

/// The next step to take with a first model.
enum class NextStep : std::uint8_t {
  kFindObjects,        ///< FP32 finds no box in any image
  kNamePreprocessing,  ///< the preprocessing is only assumed
  kCheckSamples,       ///< FP32 is no more accurate than guessing
  kAddSamples,         ///< there are too few samples to set ranges
  kOtherTarget,        ///< as kKeepNodes, but another target runs such functions on integers
  kKeepNodes,          ///< INT8 differs too often from FP32: search for the cause
  kCompareMore,        ///< too few samples to tell whether INT8 is good enough
  kInspect,            ///< most multiplications stayed in FP32
  kUse,
};

/// The next step that the figures of a model call for. The most fundamental problem comes first,
/// because figures from wrongly prepared or too few samples say nothing about other problems. A
/// figure is good or bad enough only if its whole interval is.
struct Advice {
  NextStep step = NextStep::kUse;
  std::string why;  ///< a sentence with the figure that decided
  /// Where a figure is too low or not decided, the goal of `search` that these figures miss:
  /// {"--min-sqnr", "20"}.
  CommandWords goal{};
  /// Whether the figure itself misses that goal. If false, only its interval does.
  bool is_missed = false;
  /// For kCompareMore: the number of samples that would probably decide, or to begin with where
  /// there are too few for an interval; 0 if it is not known.
  std::int64_t samples = 0;
};
Advice advise(const FirstFigures& figures);

/// Whether a search can be the next step: a figure itself misses its goal, and nothing else is to
/// be done first.
bool calls_for_search(const Advice& advice);

/// The name of a step in JSON: `keep_nodes`.
std::string_view name_of(NextStep step);

}  // namespace qtool
