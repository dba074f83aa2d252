#include "auto/way_out.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "base/text.h"
#include "report/shell.h"
#include "shown_command.h"

namespace qtool::tool {
namespace {

// The extents of a value, -1 for an open one: a state and its output are open in the same places.
// nullopt without a shape.
std::optional<std::vector<std::int64_t>> extents_of(const Value& value) {
  if (!value.shape) return std::nullopt;
  std::vector<std::int64_t> extents;
  for (const Dim& dim : *value.shape) extents.push_back(dim.size.value_or(-1));
  return extents;
}

// The values of --state, such as `state=stateN`, for each input but the first, with the only output
// of the same shape. Empty if an input has no such output or several: only the user knows then.
std::vector<std::string> states_of(const Graph& graph) {
  std::vector<std::string> states;
  for (std::size_t i = 1; i < graph.inputs().size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i]);
    std::vector<std::string> partners;
    for (const ValueId output : graph.outputs()) {
      const Value& value = graph.value(output);
      if (input.shape && extents_of(value) == extents_of(input)) partners.push_back(value.name);
    }
    if (partners.size() != 1) return {};
    states.push_back(to_text(input.name, "=", partners[0]));
  }
  return states;
}

}  // namespace

Error with_way_out(const Error& error, const std::string& model, const std::string& inputs,
                   const Graph& graph) {
  const bool of_kind = error.code() == ErrorCode::kUsage || error.code() == ErrorCode::kUnsupported;
  if (!of_kind || graph.inputs().size() < 2) return error;
  std::string text = to_text(error.what(),
                             "; auto feeds no outputs back as inputs, but calibrate "
                             "and eval do, with --state for each such input");
  const std::vector<std::string> states = states_of(graph);
  if (!inputs.empty() && !states.empty()) {
    ShownCommand steps("calibrate", model);
    steps.value("--inputs", inputs);
    for (const std::string& state : states) steps.value("--state", state);
    text += to_text(": `", shell_line(steps.words()),
                    "`; a .wav file also takes --hop, the number of new "
                    "values of each sample");
  }
  ShownCommand no_samples("quantize", model);
  no_samples.value("--mode", "weight-only");
  return Error(error.code(),
               to_text(text, ". Without samples: `", shell_line(no_samples.words()), "`"));
}

}  // namespace qtool::tool
