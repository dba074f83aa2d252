#include "report/suggestions.h"

#include <string_view>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "report/durations.h"
#include "report/shell.h"

namespace qtool {
namespace {

std::string cost_text(const MedianInterval& slower, double int8_seconds) {
  std::string text = slower_by(slower);
  if (int8_seconds > 0.0) {
    const double share = slower.median / int8_seconds;
    text += to_text(share < 0.0 ? ", " : ", +", percent(share, 1));
  }
  return text;
}

}  // namespace

std::string_view name_of(SourceKind kind) {
  switch (kind) {
    case SourceKind::kWeights:
      return "weights";
    case SourceKind::kBias:
      return "bias";
    default:
      return "activation";
  }
}

ChangeOptions options_of(const Change& change) {
  ChangeOptions options{change.method.empty() ? "quantize" : "calibrate", {}};
  const auto add = [&](std::string_view option, const std::string& value) {
    // A separate word that begins with - would be taken for an option.
    if (value.starts_with('-')) {
      options.words.push_back(to_text(option, "=", value));
    } else {
      options.words.emplace_back(option);
      options.words.push_back(value);
    }
  };
  for (const std::string& node : change.exclude) add("--exclude", node);
  for (const std::string& tensor : change.wide) add("--wide", tensor);
  for (const Overrides::GivenRange& given : change.ranges) {
    add("--range", to_text(given.tensor, "=", given.range.min, ",", given.range.max));
  }
  if (!change.method.empty()) add("--method", change.method);
  if (!change.weight_method.empty()) add("--weight-method", change.weight_method);
  if (change.rewrites) add("--equalize", change.rewrites->empty() ? "off" : "table");
  if (!change.corrected_on.empty()) {
    add("--bias-correction", "sequential");
    options.words.insert(options.words.end(), change.corrected_on.begin(),
                         change.corrected_on.end());
  }
  return options;
}

ChangeLine line_of(const ChangeOptions& options, const MakingCommands& commands) {
  const auto joined = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    for (std::string& word : words) word = printable(word);
    return shell_line(words);
  };
  const bool ranges = options.command == "calibrate";
  const std::vector<std::string>& command = ranges ? commands.calibrate : commands.quantize;
  ChangeLine line{joined(command, options.words), !command.empty()};
  if (line.complete && ranges) line.text += to_text(" && ", joined(commands.quantize_again, {}));
  return line;
}

namespace {

/// One line for each of the worst sources: the gain of each change of that source alone.
std::string by_source_text(const SuggestResult& result) {
  if (result.by_source.empty()) return "";
  std::string text = "what a change of one source alone brings, in dB:\n";
  const SourceTrial* last = nullptr;
  for (const SourceTrial& trial : result.by_source) {
    const bool same = last != nullptr && last->source == trial.source && last->kind == trial.kind;
    if (same) {
      text += ", ";
    } else {
      text += to_text(last == nullptr ? "" : "\n", "  ", printable(trial.source), " (",
                      name_of(trial.kind), "): ");
    }
    text += to_text(trial.what, " ", to_signed_fixed(trial.gain_db, 2));
    last = &trial;
  }
  return to_text(text, "\n\n");
}

}  // namespace

std::string text_of(const SuggestResult& result, const MakingCommands& commands) {
  std::string text =
      to_text(by_source_text(result), result.tried, " changes were tried on these images; ");
  const std::string threshold = to_text(to_fixed(result.min_gain_db, 1), " dB or more over the ",
                                        to_fixed(result.sqnr_db, 2), " dB of the INT8 model");
  if (result.suggestions.empty()) return to_text(text, "none brings ", threshold, "\n");
  text +=
      to_text("these bring ", threshold, ", and as much more than every smaller one. Times are ",
              "of an image on ", result.threads, result.threads == 1 ? " thread" : " threads",
              ", against its ", milliseconds(result.int8_seconds, 2), " ms\n");
  for (const Suggestion& suggestion : result.suggestions) {
    const ChangeOptions options = options_of(suggestion.change);
    const ChangeLine line = line_of(options, commands);
    text += to_text(
        "\n", to_signed_fixed(suggestion.gain_db, 2), " dB, to ", to_fixed(suggestion.sqnr_db, 2),
        " dB; ", cost_text(suggestion.slower_seconds, result.int8_seconds), "\n    ",
        line.complete ? "" : to_text("options of qtool ", options.command, ": "), line.text, "\n");
  }
  return text;
}

}  // namespace qtool
