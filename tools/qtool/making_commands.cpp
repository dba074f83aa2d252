#include "making_commands.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "files.h"
#include "qtool/calib/method.h"
#include "qtool/calib/table.h"
#include "qtool/quantize/target.h"
#include "shown_command.h"

namespace qtool::tool {
namespace {

// The options of the base that calibrate and quantize have.
void add_placement(const StaticOptions& options, ShownCommand& line) {
  if (options.target != kDefaultTarget) line.value("--target", options.target);
  for (const std::string& node : options.exclude) line.value("--exclude", node);
}

// The options of the base that an INT8 model says, for quantize.
void add_said(const StaticInputs& base, ShownCommand& line) {
  const StaticOptions& options = base.options;
  add_placement(options, line);
  if (options.rewrites && *options.rewrites != base.table.rewrites.names) {
    line.value("--equalize", options.rewrites->empty() ? "off" : "table");
  }
  if (!base.learned.rounded.empty()) line.value("--weight-rounding", options.rounding);
}

// Whether a user chose something when the table was made. The options of such choices are not
// known.
bool has_choices(const CalibrationTable& table) {
  MethodOptions usual;
  usual.scheme = table.method_options.scheme;
  TypeChoices types = table.types;
  types.weight_pairs.reset();  // calibrate --from keeps them
  return !types.empty() || table.method_options != usual ||
         std::ranges::any_of(table.activations,
                             [](const auto& entry) { return entry.origin == Origin::kUser; });
}

// The file for a changed model or table.
std::string improved_output(const std::string& model, const StaticInputs& base,
                            const char* ending) {
  return default_output(model, base.options.target, to_text(".improved", ending));
}

const std::vector<std::string> kOverrideOptions{"--exclude", "--range", "--scale", "--wide",
                                                "--overrides"};
const std::vector<std::string> kSampleOptions{"--images", "--inputs", "--part", "--strict"};
const std::vector<std::string> kOutputOptions{"--boxes", "--box-score", "--nms-iou", "--mask"};

// The comparison of an INT8 model with FP32 on all samples of the running command, whatever its
// limit.
CommandWords eval_line(const std::string& model, const std::string& int8, const Command& running) {
  ShownCommand line("eval", model);
  line.value("--int8", int8);
  line.take(running, kSampleOptions);
  line.take(running, {"--labels"});
  line.take(running, kOutputOptions);
  line.take(running, {"--threads"});
  line.take_group(running, "Preprocessing");
  return line.words();
}

}  // namespace

MakingCommands making_commands_of(const std::string& model, const std::string& table,
                                  const StaticInputs& base, const Command* running) {
  MakingCommands made;
  const auto named = [&](const char* ending) { return improved_output(model, base, ending); };
  const auto quantize_line = [&](const std::string& from) {
    ShownCommand line("quantize", model);
    line.value("--table", from);
    if (running != nullptr) {
      line.take(*running, {"--target"});
      line.take(*running, kOverrideOptions);
    } else {
      add_said(base, line);
    }
    line.value("--output", named(".int8.onnx"));
    return line.words();
  };
  made.quantize = quantize_line(table);
  if (has_choices(base.table)) return made;
  const std::string other = named(".table.json");
  ShownCommand line("calibrate", model);
  line.value("--from", table);
  if (running != nullptr) {
    line.take(*running, {"--target", "--exclude", "--overrides"});
  } else {
    add_placement(base.options, line);
  }
  if (!base.table.rewrites.names.empty()) line.value("--equalize", "table");
  line.value("--output", other);
  made.calibrate = line.words();
  made.quantize_again = quantize_line(other);
  return made;
}

CommandWords eval_of_improved(const std::string& model, const StaticInputs& base,
                              const Command& running) {
  return eval_line(model, improved_output(model, base, ".int8.onnx"), running);
}

std::vector<CommandWords> next_commands(const std::string& model, const std::string& int8,
                                        const std::string& table, const Command& running,
                                        const Advice& advice, bool has_more) {
  if (advice.step == NextStep::kCompareMore && !int8.empty() && has_more) {
    return {eval_line(model, int8, running)};
  }
  if (table.empty()) return {};
  if (advice.step == NextStep::kOtherTarget) {
    ShownCommand line("quantize", model);
    line.value("--table", table);
    line.take(running, kOverrideOptions);
    line.value("--target", "qtool");
    return {line.words()};
  }
  if (advice.step != NextStep::kKeepNodes) return {};
  ShownCommand line("search", model);
  line.value("--table", table);
  line.take(running, kSampleOptions);
  line.take(running, {"--limit", "--target"});
  line.take(running, kOverrideOptions);
  const CommandWords goal = search_goal(advice, running.given("--labels"));
  line.value(goal.at(0), goal.at(1));
  if (goal.at(0) == "--max-top1-drop") line.take(running, {"--labels"});
  line.take(running, kOutputOptions);
  line.take(running, {"--threads"});
  line.take_group(running, "Preprocessing");
  line.value("--output",
             default_output(model, running.find("--target").value(), ".overrides.json"));
  return {line.words()};
}

}  // namespace qtool::tool
