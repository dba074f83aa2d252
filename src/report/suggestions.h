#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtool/analyze/analyze.h"

namespace qtool {

/// The options of a change as words of a command line, and the command that takes them.
struct ChangeOptions {
  std::string command;  ///< `quantize` or `calibrate`
  std::vector<std::string> words;
};
ChangeOptions options_of(const Change& change);

/// The words of command lines that make the INT8 model, the program first. The options of a change
/// go behind them, and replace those that may be given once only. Empty where nothing says how the
/// model was made.
struct MakingCommands {
  std::vector<std::string> quantize{};        ///< makes a model from the table
  std::vector<std::string> calibrate{};       ///< decides the ranges again, for another table
  std::vector<std::string> quantize_again{};  ///< makes a model from that other table
  std::vector<std::string> eval{};            ///< compares what was made with FP32
};

/// A change for people to paste into a shell.
struct ChangeLine {
  /// Whole commands, joined by &&, or only the options. Quoted for a shell.
  std::string text;
  bool complete = false;  ///< whether `text` is whole commands
};
ChangeLine line_of(const ChangeOptions& options, const MakingCommands& commands);

/// `+2.25 dB (+1.90 to +2.60), to 22.67 dB`
std::string gain_text(const Suggestion& suggestion);
/// `boxes kept 41.4 -> 80.0 % (73.2 to 86.0), added 12.0 -> 3.5 % (1.9 to 6.4)`: the answers of the
/// unchanged and of the changed model, with the interval of the changed one. Empty where no answers
/// were compared.
std::string answers_text(const KeptAnswers& before, const KeptAnswers& after);
/// What a change costs: nodes in FP32, the time to make the model, and the time of an image against
/// the unchanged model. `before`: share of the multiplications on integers without the change.
std::string cost_text(const Suggestion& suggestion, double before);

/// The word for a kind of source.
std::string_view name_of(SourceKind kind);

/// The result as text for people.
std::string text_of(const SuggestResult& result, const MakingCommands& commands = {});

}  // namespace qtool
