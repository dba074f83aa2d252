#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/accuracy_limits.h"
#include "analyze/next_step.h"
#include "qtool/compare/evaluate.h"
#include "qtool/search/search.h"
#include "report/preprocessing.h"
#include "report/profile.h"
#include "report/quantization.h"
#include "report/text_table.h"

namespace qtool {

/// A search of `auto` that followed its first comparison.
struct FirstSearch {
  std::string before{};  ///< Advice::why of the model before the search
  SearchResult result{};

  /// Whether it found a model other than the one that it began with.
  [[nodiscard]] bool changed() const {
    return !result.best.exclude.empty() || !result.best.wide.empty();
  }
  /// Whether the model had reached the goal before, so that only other samples show what it loses.
  [[nodiscard]] bool needs_other_samples() const { return result.reached && !changed(); }
};

/// Whether a search reached its goal on its own images and on those that it held back, in one line:
/// `reached on its own 67 images, missed on 33 held back`. `noun`: see EvalResult::noun.
std::string goal_line(const SearchResult& result, const std::string& noun);

/// What to do after a search whose model is not good enough on other images, without an end. The
/// commands that follow are those of AutoLines::next(); none where other samples are needed.
std::string after_search_text(const FirstSearch& searched);

/// The result of `auto`: a table, an INT8 model, and the comparison of that model with FP32.
struct FirstModel {
  std::int64_t calibrated_on = 0;                 ///< number of samples
  bool too_few = false;                           ///< all set the ranges and were compared on, too
  std::optional<SourcedPreprocess> preprocess{};  ///< none if the samples were tensors
  QuantizationSummary quantized{};                ///< `unused`: of the samples to calibrate on
  EvalResult compared{};
  bool all_compared = false;              ///< for kCompareMore: nothing more to compare on
  bool asked_to_search = false;           ///< by --search, where a search is the next step
  std::optional<FirstSearch> searched{};  ///< `quantized` and `compared` are of the found model
  /// Of one run in qtool and in another runtime; empty if they were not measured.
  std::vector<RuntimeTimes> times{};
  /// Number of functions of one element, such as SiLU, that target `qtool` would run on integers
  /// but the target of the model does not. 0 if the user named the target.
  std::int64_t functions_left = 0;
  /// The detector whose usual preprocessing is proposed, because some of the preprocessing was
  /// assumed; empty if none is known.
  std::string usual_for{};
  CommandWords usual_options{};          ///< of that preprocessing, as far as it was assumed
  CommandWords usual_command{};          ///< begins again with these options
  std::vector<std::string> files{};      ///< the files that were written
  std::vector<CommandWords> commands{};  ///< commands that give the same result in steps

  /// Whether it is known that no sample that the models were compared on also set the ranges.
  [[nodiscard]] bool held_out() const { return compared.overlap && compared.overlap->common == 0; }
};

/// What the target for qtool's own runtime does with functions of one element, and what that costs
/// in other runtimes: to follow `Quantize for ` or `Begin again for `, without an end.
std::string_view own_target_text();

/// The figures of the model that decide about the next step.
FirstFigures figures_of(const FirstModel& made);

/// Sizes, coverage, accuracy, files, the files that were not used, the commands that give the same
/// result, and the next step with the commands `next` that take it. A preprocessing that is usual
/// for the detector follows if the next step is another.
std::string text_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next, std::size_t width = kAnyWidth);
std::string json_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next);

}  // namespace qtool
