#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "report/preprocessing.h"
#include "report/quantization.h"
#include "report/text_table.h"

namespace qtool {

/// The words of a command line, the program first.
using CommandWords = std::vector<std::string>;

/// The result of `auto`: a table, an INT8 model, and the comparison of that model with FP32.
struct FirstModel {
  std::int64_t calibrated_on = 0;                 ///< number of samples
  bool held_out = false;                          ///< the models were compared on other samples
  std::optional<SourcedPreprocess> preprocess{};  ///< none if the samples were tensors
  QuantizationSummary quantized{};
  EvalResult compared{};
  /// Number of functions of one element, such as SiLU, that target `qtool` would run as tables but
  /// the target of the model does not.
  std::int64_t functions_left = 0;
  std::vector<std::string> files{};      ///< the files that were written
  std::vector<CommandWords> commands{};  ///< commands that give the same result in steps
};

/// The next step to take with such a model.
enum class NextStep : std::uint8_t {
  kNamePreprocessing,  ///< the preprocessing is only assumed
  kCheckSamples,       ///< FP32 is no more accurate than guessing
  kAddSamples,         ///< there are too few samples to set ranges
  kOtherTarget,        ///< as kKeepNodes, but another target runs functions as tables
  kKeepNodes,          ///< INT8 differs too often from FP32: search for the cause
  kInspect,            ///< most multiplications stayed in FP32
  kUse,
};

/// The next step that the figures of a model call for. The most fundamental problem comes first,
/// because figures from wrongly prepared or too few samples say nothing about other problems.
struct Advice {
  NextStep step = NextStep::kUse;
  std::string why;  ///< a sentence with the figure that decided
  /// For kKeepNodes, the goal of `search` that these figures miss: {"--min-sqnr", "20"}.
  CommandWords goal{};
};
Advice advise(const FirstModel& made);

/// The name of a step in JSON: `keep_nodes`.
std::string_view name_of(NextStep step);

/// Sizes, coverage, accuracy, files, the commands that give the same result, and the next step with
/// the commands `next` that take it.
std::string text_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next, std::size_t width = kAnyWidth);
std::string json_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next);

}  // namespace qtool
