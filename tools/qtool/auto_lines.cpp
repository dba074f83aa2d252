#include "auto_lines.h"

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "qtool/compare/evaluate.h"

namespace qtool::tool {
namespace {

constexpr const char* kMinIntegers = "75%";  // the search must keep this share on integers

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
  ShownCommand line("quantize", options_.model);
  line.value("--table", files_.table);
  add_model_options(recipe_, line);
  add_samples(halves_.calibrates, line);
  line.flag("--verify");
  line.take(command_, {"--min-sqnr", "--threads"});
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
  line.take(command_, {"--threads"});
  return line.words();
}

CommandWords AutoLines::again(const std::string& target, const UsualPreprocessing& usual) const {
  ShownCommand line("auto", options_.model);
  line.take(command_, {"--images", "--inputs", "--compare", "--limit", "--strict"});
  line.take_group(command_, "Preprocessing");
  for (std::size_t i = 0; i + 1 < usual.words.size(); i += 2) {
    if (!command_.given(usual.words[i])) line.value(usual.words[i], usual.words[i + 1]);
  }
  if (target != kDefaultTarget) line.value("--target", target);
  line.take(command_, {"--effort", "--min-sqnr", "--output-dir", "--labels", "--threads"});
  line.take_group(command_, "Outputs");
  return line.words();
}

// Searches the nodes that must stay in FP32, and quantizes without them.
std::vector<CommandWords> AutoLines::search(const Advice& advice) const {
  ShownCommand line("search", options_.model);
  line.value("--table", files_.table);
  add_samples(halves_.calibrates, line);
  line.value(advice.goal.at(0), advice.goal.at(1));
  line.value("--min-integer-macs", kMinIntegers);
  if (advice.goal.at(0) == "--max-top1-drop") line.take(command_, {"--labels"});
  take_outputs({"--boxes", "--box-score", "--nms-iou", "--mask"}, line);
  add_model_options(recipe_, line);
  line.value("--output", files_.overrides);
  CommandWords made = quantize(files_.model);
  made.insert(made.end(), {"--overrides", files_.overrides});
  return {line.words(), std::move(made)};
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
      return {again("qtool", {})};
    case NextStep::kKeepNodes:
      return search(advice);
    case NextStep::kCompareMore:
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
