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

// The options of the base that an INT8 model says, for quantize.
void add_said(const StaticInputs& base, ShownCommand& line) {
  const StaticOptions& options = base.options;
  if (options.target != kDefaultTarget) line.value("--target", options.target);
  for (const std::string& node : options.exclude) line.value("--exclude", node);
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
  return !table.types.empty() || table.method_options != usual ||
         std::ranges::any_of(table.activations,
                             [](const auto& entry) { return entry.origin == Origin::kUser; });
}

}  // namespace

MakingCommands making_commands_of(const std::string& model, const std::string& table,
                                  const StaticInputs& base, const Command* running) {
  MakingCommands made;
  const auto named = [&](const char* ending) {
    return default_output(model, base.options.target, to_text(".improved", ending));
  };
  const auto quantize_line = [&](const std::string& from) {
    ShownCommand line("quantize", model);
    line.value("--table", from);
    if (running != nullptr) {
      line.take(*running, {"--target", "--exclude", "--range", "--scale", "--wide", "--overrides"});
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
    if (base.options.target != kDefaultTarget) line.value("--target", base.options.target);
    for (const std::string& node : base.options.exclude) line.value("--exclude", node);
  }
  if (!base.table.rewrites.names.empty()) line.value("--equalize", "table");
  line.value("--output", other);
  made.calibrate = line.words();
  made.quantize_again = quantize_line(other);
  return made;
}

}  // namespace qtool::tool
