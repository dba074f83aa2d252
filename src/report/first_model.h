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

/// What `auto` made: a table, a model, and how that model compares with its FP32 network.
struct FirstModel {
  std::int64_t calibrated_on = 0;                 ///< samples
  bool held_out = false;                          ///< they were compared on others
  std::optional<SourcedPreprocess> preprocess{};  ///< none where the samples were tensors
  QuantizationSummary quantized{};
  EvalResult compared{};
  /// Functions of one element, such as SiLU, that target `qtool` would run as tables and the target
  /// of the model does not.
  std::int64_t functions_left = 0;
  std::vector<std::string> files{};      ///< that were written
  std::vector<CommandWords> commands{};  ///< that give the same
};

/// What is worth doing first with such a model.
enum class NextStep : std::uint8_t {
  kNamePreprocessing,  ///< nothing says how images are prepared
  kCheckSamples,       ///< FP32 answers like guessing
  kAddSamples,         ///< too few to set ranges by
  kOtherTarget,        ///< the same, and another target runs the network's functions as tables
  kKeepNodes,          ///< INT8 answers otherwise than FP32 too often: a search finds the causes
  kInspect,            ///< most of the work stayed in FP32
  kUse,
};

/// The step that these figures call for. The most fundamental one comes first: what is measured on
/// wrongly prepared or too few samples says nothing of the rest.
struct Advice {
  NextStep step = NextStep::kUse;
  std::string why;  ///< a sentence with the figure that decided
  /// For kKeepNodes, the goal of `search` that these figures miss: {"--min-sqnr", "20"}.
  CommandWords goal{};
};
Advice advise(const FirstModel& made);

/// The name of a step in JSON: `keep_nodes`.
std::string_view name_of(NextStep step);

/// Sizes, coverage, accuracy, files, the commands that give the same, and the next step with
/// `commands` to take it.
std::string text_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next, std::size_t width = kAnyWidth);
std::string json_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next);

}  // namespace qtool
