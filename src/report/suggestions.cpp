#include "report/suggestions.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "qtool/pipeline/recipe.h"
#include "report/durations.h"
#include "report/shell.h"

namespace qtool {
namespace {

/// Takes an option with its value out of a command line.
void erase_option(std::string_view option, std::vector<std::string>& words) {
  const std::string joined = to_text(option, "=");
  for (std::size_t i = 0; i < words.size();) {
    const bool apart = words[i] == option && i + 1 < words.size();
    const bool together = words[i].starts_with(joined);
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(i);
    if (apart || together) {
      words.erase(at, at + (apart ? 2 : 1));
    } else {
      ++i;
    }
  }
}

/// Takes the options of `line` that `change` gives another value.
void erase_changed(const std::vector<std::string>& change, std::vector<std::string>& line) {
  static const std::vector<std::string_view> several{"--exclude", "--wide", "--range"};
  for (const std::string& word : change) {
    if (!word.starts_with("--")) continue;
    const std::string_view option = std::string_view(word).substr(0, word.find('='));
    if (std::ranges::find(several, option) == several.end()) erase_option(option, line);
  }
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
    add_option(option, value, options.words);
  };
  for (const std::string& node : change.exclude) add("--exclude", node);
  for (const std::string& tensor : change.wide) add("--wide", tensor);
  for (const Overrides::GivenRange& given : change.ranges) {
    add("--range", to_text(given.tensor, "=", given.range.min, ",", given.range.max));
  }
  if (!change.method.empty()) add("--method", change.method);
  if (!change.weight_method.empty()) add("--weight-method", change.weight_method);
  // All choices of the effort were tried, and none was judged on held images. So they are named.
  Recipe recipe;
  recipe.rewrites = change.rewrites;
  if (!change.effort.empty()) {
    recipe.effort = find_effort(change.effort).effort;
    recipe = resolved(recipe);
  }
  if (recipe.rewrites) add("--equalize", recipe.rewrites->empty() ? "off" : "table");
  if (!change.target.empty()) add("--target", change.target);
  if (recipe.rounding) add("--weight-rounding", *recipe.rounding);
  if (recipe.tune_ranges) options.words.emplace_back("--tune-ranges");
  if (change.corrects_biases) add("--bias-correction", "sequential");
  options.words.insert(options.words.end(), change.learned_on.begin(), change.learned_on.end());
  return options;
}

ChangeLine line_of(const ChangeOptions& options, const MakingCommands& commands) {
  const auto joined = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    erase_changed(more, words);
    words.insert(words.end(), more.begin(), more.end());
    return printable_line(std::move(words));
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

// `41.4 -> 80.0 % (73.2 to 86.0)`
std::string shares_text(const std::optional<AnswerShare>& before, const AnswerShare& after) {
  const auto number = [](double share) { return to_fixed(100.0 * share, 1); };
  std::string text =
      to_text(before ? to_text(number(before->value), " -> ") : "", number(after.value), " %");
  if (after.interval) {
    text += in_brackets(to_text(number(after.interval->low), " to ", number(after.interval->high)));
  }
  return text;
}

// The share of FP32's boxes that are kept, or that are added. FP32 must find a box.
AnswerShare kept_share(const BoxMatch& match) {
  return {static_cast<double>(match.kept) / static_cast<double>(match.fp32), match.kept_interval};
}
AnswerShare added_share(const BoxMatch& match) {
  return {static_cast<double>(match.added()) / static_cast<double>(match.fp32),
          match.added_interval};
}

std::string boxes_text(const std::optional<BoxMatch>& before, const BoxMatch& after) {
  if (after.fp32 == 0) return "no boxes of FP32 to keep";
  // FP32 is the same for both models.
  std::optional<AnswerShare> kept;
  std::optional<AnswerShare> added;
  if (before) {
    kept = kept_share(*before);
    added = added_share(*before);
  }
  return to_text("boxes kept ", shares_text(kept, kept_share(after)), ", added ",
                 shares_text(added, added_share(after)));
}

}  // namespace

std::string gain_text(const Suggestion& suggestion) {
  std::string text = to_text(to_signed_fixed(suggestion.gain_db, 2), " dB");
  if (const std::optional<Interval>& interval = suggestion.gain_interval_db) {
    text += in_brackets(
        to_text(to_signed_fixed(interval->low, 2), " to ", to_signed_fixed(interval->high, 2)));
  }
  return to_text(text, ", to ", to_fixed(suggestion.sqnr_db, 2), " dB");
}

std::string answers_text(const KeptAnswers& before, const KeptAnswers& after) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += to_text(text.empty() ? "" : ", ", part);
  };
  if (after.boxes) add(boxes_text(before.boxes, *after.boxes));
  if (after.pixels) add(to_text("pixels kept ", shares_text(before.pixels, *after.pixels)));
  if (after.mean_iou) add(to_text("mean IoU ", shares_text(before.mean_iou, *after.mean_iou)));
  if (after.classes) add(to_text("classes kept ", shares_text(before.classes, *after.classes)));
  return text;
}

std::string cost_text(const Suggestion& suggestion, double before) {
  const Change& change = suggestion.change;
  std::string text = percent(suggestion.integer_share, 1);
  if (change.exclude.empty()) {
    text += " of the products on integers, no more nodes in FP32";
  } else {
    text += to_text(" of the products on integers (", percent(before, 1), " before), ",
                    change.exclude.size(), change.exclude.size() == 1 ? " node" : " nodes",
                    " more in FP32");
  }
  if (!change.target.empty()) {
    text += "; for qtool's own runtime, others may run parts of it in FP32";
  }
  return to_text(text, "; made in ", to_fixed(suggestion.making_seconds, 1),
                 " s; time of an image ", slower_by(suggestion.cost));
}

std::string text_of(const SuggestResult& result, const MakingCommands& commands) {
  std::string text = to_text(by_source_text(result), result.tried, " changes were tried on ",
                             result.images, " ", result.noun, result.images == 1 ? "" : "s");
  if (result.learned_on > 0) {
    text += to_text(", and learned on ", result.learned_on, " others where a recipe learns");
  }
  text += "; ";
  const std::string threshold = to_text(to_fixed(result.min_gain_db, 1), " dB or more over the ",
                                        to_fixed(result.sqnr_db, 2), " dB of the INT8 model");
  if (result.suggestions.empty()) return to_text(text, "none brings ", threshold, "\n");
  text += to_text("these bring ", threshold,
                  ", and as much more than every smaller one. Times are of an image in qtool's own "
                  "runtime on ",
                  result.threads, result.threads == 1 ? " thread" : " threads",
                  ", against the INT8 model. Intervals: 95 % confidence, for other images of the "
                  "same kind; they do not include that the changes were chosen on these images\n");
  for (const Suggestion& suggestion : result.suggestions) {
    const ChangeOptions options = options_of(suggestion.change);
    const ChangeLine line = line_of(options, commands);
    const std::string answers = answers_text(result.answers, suggestion.answers);
    text += to_text("\n", gain_text(suggestion), answers.empty() ? "" : "\n  ", answers, "\n  ",
                    cost_text(suggestion, result.integer_share), "\n    ",
                    line.complete ? "" : to_text("options of qtool ", options.command, ": "),
                    line.text, "\n");
  }
  return text;
}

}  // namespace qtool
