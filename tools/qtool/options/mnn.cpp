#include "options/mnn.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/text.h"
#include "console.h"
#include "files.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 20;

bool any_given(const Command& command, std::initializer_list<const char*> flags) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const char* flag) { return command.given(flag); });
}

// Sets a flag as if it were on the command line, unless it is there.
void set(Command& command, const char* flag, const std::vector<std::string>& values) {
  if (values.empty() || values.front().empty() || command.given(flag)) return;
  try {
    command.find(flag).set(values);
  } catch (const CommandLineError& problem) {
    throw Error(ErrorCode::kUsage, to_text("MNN configuration: ", problem.what()));
  }
  detail(to_text("MNN configuration: ", flag, " ", values.front()));
}

}  // namespace

void MnnOptions::add_to(Command& command) {
  command
      .option("--mnn-config", file_,
              "Settings for MNN's quantized.out, as JSON\n"
              "Images, preprocessing and methods come from it; flags win over it.")
      .placeholder("FILE");
}

void MnnOptions::apply(Command& command, PreprocessOptions& preprocess) const {
  if (file_.empty()) return;
  MnnConfig config;
  try {
    config = read_mnn_config(read_input(file_, kMaxBytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw Error(error.code(), to_text("'", file_, "': ", error.what()));
  }
  if (!any_given(command, {"--from"})) set(command, "--images", {config.images});
  if (config.limit) set(command, "--limit", {to_text(*config.limit)});
  set(command, "--method", {config.method});
  set(command, "--weight-method", {config.weight_method});
  if (config.bits) {
    set(command, "--weight-bits", {to_text(std::int64_t{*config.bits})});
    set(command, "--activation-bits", {to_text(std::int64_t{*config.bits})});
  }
  set(command, "--exclude", config.exclude);
  if (config.preprocess) {
    preprocess.name_by_default(*config.preprocess, to_text("of MNN configuration '", file_, "'"));
  }
}

}  // namespace qtool::tool
