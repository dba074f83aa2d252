#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/command_line.h"
#include "cli/help_page.h"
#include "cli/program.h"
#include "console.h"
#include "exit_code.h"
#include "overwrite_check.h"
#include "signals.h"

namespace qtool::tool {
namespace {

// Applies the macro `command` to every command, in the order of `qtool --help`.
#define QTOOL_COMMANDS(command)                                                           \
  command(add_auto) command(add_calibrate) command(add_images) command(add_quantize)      \
      command(add_infer) command(add_eval) command(add_analyze) command(add_search)       \
          command(add_compare) command(add_inspect) command(add_table) command(add_bench) \
              command(add_completion) command(add_help)

#define QTOOL_DECLARE(name) void name(Program& program, Session& session);
}  // namespace
QTOOL_COMMANDS(QTOOL_DECLARE)
namespace {

#define QTOOL_ROW(name) &name,
const std::vector<AddCommand> kCommands{QTOOL_COMMANDS(QTOOL_ROW)};

constexpr const char* kFooter =
    "First steps:\n"
    "  qtool auto model.onnx --images photos --preprocess imagenet\n"
    "or one by one:\n"
    "  qtool calibrate model.onnx --images photos --preprocess imagenet\n"
    "  qtool quantize model.onnx\n"
    "  qtool eval model.onnx --int8 model.int8.onnx --images photos\n\n"
    "Each command explains itself: qtool COMMAND --help\n"
    "Topics: qtool help targets, presets, detectors, methods, formats, lists\n"
    "Exit codes: 0 success, 1 failure, 2 wrong usage, 130 stopped by Ctrl-C,\n"
    "143 by SIGTERM.";

int report_usage(const Program& program, std::string_view message) {
  error(message);
  const Command* command = program.given();
  write_stderr(to_text("Try: qtool ", command == nullptr ? "" : command->name() + " ", "--help\n"));
  return kExitUsage;
}

std::string page_for(Request request, const Program& program) {
  if (request == Request::kVersion) return "qtool " QTOOL_VERSION "\n";
  const Command* command = program.given();
  if (command == nullptr) return help_page(program);
  return request == Request::kAllHelp ? whole_help_page(program, *command) : help_page(*command);
}

int run(int argc, char** argv) {
  Program program(
      "Post-training INT8 quantization of ONNX networks, from calibration to inference.", kFooter);
  Session session;
  for (const AddCommand add : kCommands) add(program, session);

  try {
    const Request request = program.parse({argv + std::min(argc, 1), argv + argc});
    if (request != Request::kRun) {
      print_result(page_for(request, program));
      return kExitOk;
    }
  } catch (const CommandLineError& problem) {
    return report_usage(program, problem.what());
  }
  if (!session.run) return report_usage(program, "a command is expected");
  if (program.config().given()) declare_input(program.config().value());
  program.given()->require_effect();
  stop_if_interrupted();
  session.run();
  return kExitOk;
}

}  // namespace
}  // namespace qtool::tool

int main(int argc, char** argv) {
  using namespace qtool::tool;
  set_up_console();
  catch_interrupts();
  keep_command_line(argc, argv);
  return exit_code_of([&] { return run(argc, argv); });
}
