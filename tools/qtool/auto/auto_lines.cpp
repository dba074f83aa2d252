#include "auto/auto_lines.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "cli/value_checks.h"
#include "qtool/compare/evaluate.h"

namespace qtool::tool {
namespace {

constexpr double kHalfNoiseDb = 3.0;

// `goal`, and half the noise of the model that reached it on the images of the search. A limit on
// answers alone may be reached there without a mistake already.
CommandWords stricter(const CommandWords& goal, const SearchResult& reached) {
  const std::string decibels = to_fixed(std::floor(reached.best.sqnr_db + kHalfNoiseDb), 0);
  if (goal.at(0) == "--min-sqnr") return {goal.at(0), decibels};
  return {goal.at(0), goal.at(1), "--min-sqnr", decibels};
}

// Adds the options that select samples.
void add_samples(const SampleOptions& samples, ShownCommand& line) {
  if (!samples.images.empty()) line.value("--images", samples.images);
  if (!samples.inputs.empty()) line.value("--inputs", samples.inputs);
  if (!samples.part.empty()) line.value("--part", samples.part);
  line.value("--limit", to_text(samples.limit));
  if (samples.strict) line.flag("--strict");
}

}  // namespace

AutoLines::AutoLines(const AutoCommand& options, const Command& command, const Recipe& recipe,
                     const AutoHalves& halves, const AutoFiles& files)
    : options_(options), command_(command), recipe_(recipe), halves_(halves), files_(files) {}

CommandWords AutoLines::calibrate() const {
  ShownCommand line("calibrate", options_.model);
  add_samples(halves_.calibrates, line);
  line.take_group(command_, "Preprocessing");
  add_table_options(recipe_, line);
  line.take(command_, {"--threads"});
  line.value("--output", files_.table);
  return line.words();
}

CommandWords AutoLines::quantize(const std::string& model) const {
  return quantize(model, recipe_);
}

CommandWords AutoLines::quantize(const std::string& model, const Recipe& recipe) const {
  ShownCommand line("quantize", options_.model);
  line.value("--table", files_.table);
  add_model_options(recipe, line);
  add_samples(halves_.calibrates, line);
  line.flag("--verify");
  line.take(command_, {"--min-sqnr", "--threads"});
  if (recipe_.overrides != Overrides{}) line.value("--overrides", files_.overrides);
  line.value("--output", model);
  return line.words();
}

// Other commands have no `--boxes none`.
bool AutoLines::denies_boxes() const { return command_.find("--boxes").value() == kNoBoxes; }

// Adds those of `options` that say what the outputs are, for a command that has no others.
void AutoLines::take_outputs(const std::vector<std::string>& options, ShownCommand& line) const {
  for (const std::string& option : options) {
    if (option != "--boxes" || !denies_boxes()) line.take(command_, {option});
  }
}

CommandWords AutoLines::eval(const std::string& model, std::int64_t limit) const {
  ShownCommand line("eval", options_.model);
  line.value("--int8", model);
  SampleOptions compares = halves_.compares;
  compares.limit = limit;
  add_samples(compares, line);
  line.take(command_, {"--labels"});
  line.take_group(command_, "Outputs", denies_boxes() ? "--boxes" : "");
  line.take(command_, {"--also-time", "--threads"});
  return line.words();
}

CommandWords AutoLines::again(const std::string& target, const UsualPreprocessing& usual,
                              const std::string& search) const {
  ShownCommand line("auto", options_.model);
  line.take(command_, {"--images", "--inputs", "--compare", "--limit", "--strict"});
  line.take_group(command_, "Preprocessing");
  for (std::size_t i = 0; i + 1 < usual.words.size(); i += 2) {
    if (!command_.given(usual.words[i])) line.value(usual.words[i], usual.words[i + 1]);
  }
  if (target != kDefaultTarget || command_.given("--target")) line.value("--target", target);
  if (!search.empty()) line.value("--search", search);
  line.take(command_,
            {"--effort", "--min-sqnr", "--output-dir", "--labels", "--also-time", "--threads"});
  line.take_group(command_, "Outputs");
  return line.words();
}

CommandWords AutoLines::search(const CommandWords& goals, int least_integers) const {
  ShownCommand line("search", options_.model);
  line.value("--table", files_.table);
  add_samples(halves_.calibrates, line);
  for (std::size_t i = 0; i + 1 < goals.size(); i += 2) line.value(goals[i], goals[i + 1]);
  if (least_integers > 0) line.value("--min-integer-macs", to_text(least_integers, "%"));
  line.value("--budget", search_time());
  if (goals.at(0) == "--max-top1-drop") line.take(command_, {"--labels"});
  take_outputs({"--boxes", "--box-score", "--nms-iou", "--mask"}, line);
  add_model_options(recipe_, line);
  line.take(command_, {"--threads"});
  line.value("--output", files_.overrides);
  return line.words();
}

// Both models' answers to the sample on which INT8 is worst.
CommandWords AutoLines::infer(const FirstModel& made) const {
  ShownCommand line("infer", options_.model);
  line.value("--int8", files_.model);
  const std::vector<OutputError>& outputs = made.compared.outputs;
  if (!options_.images.inputs.empty()) {
    line.value("--inputs", options_.images.inputs);
  } else if (!outputs.empty()) {
    line.value("--image", outputs.front().lowest_sqnr_image.string());
  }
  line.take(command_, {"--labels"});
  take_outputs({"--boxes", "--nms-iou", "--mask"}, line);
  return line.words();
}

std::string AutoLines::search_time() const {
  return options_.search.empty() ? kSearchTime : options_.search;
}

// The lines that after_search_text() announces.
std::vector<CommandWords> AutoLines::keep_nodes(const Advice& advice,
                                                const FirstModel& made) const {
  if (!made.searched) return {again(options_.target, {}, search_time())};
  const SearchResult& result = made.searched->result;
  if (made.searched->needs_other_samples()) return {};
  if (!result.reached && result.end == SearchEnd::kBudget) {
    const double more = 2.0 * seconds_of_time(options_.search);
    return {again(options_.target, {}, to_text(std::ceil(more), "s"))};
  }
  CommandWords made_again = quantize(files_.model);
  if (recipe_.overrides == Overrides{}) {
    made_again.insert(made_again.end(), {"--overrides", files_.overrides});
  }
  const CommandWords goals = result.reached ? stricter(advice.goal, result) : advice.goal;
  return {search(goals, 0), std::move(made_again)};
}

std::vector<CommandWords> AutoLines::next(const Advice& advice, const FirstModel& made) const {
  switch (advice.step) {
    case NextStep::kNamePreprocessing:
      if (made.usual_command.empty()) return {{"qtool", "help", "presets"}};
      return {made.usual_command};
    case NextStep::kFindObjects:
      return {made.usual_command.empty() ? infer(made) : made.usual_command};
    case NextStep::kAddSamples:
      return {};
    case NextStep::kOtherTarget:
      return {again("qtool", {}, search_time())};
    case NextStep::kKeepNodes:
      return keep_nodes(advice, made);
    case NextStep::kCompareMore:
      if (made.all_compared) return {};
      return {eval(files_.model, 0)};
    case NextStep::kInspect: {
      ShownCommand line("inspect", options_.model);
      line.take(command_, {"--target"});
      return {line.words()};
    }
    case NextStep::kCheckSamples:
    case NextStep::kUse:
      break;
  }
  return {infer(made)};
}

}  // namespace qtool::tool
