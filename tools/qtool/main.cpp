#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "command.h"
#include "command_line.h"
#include "config_file.h"
#include "console.h"
#include "files.h"
#include "help_page.h"
#include "qtool/base/error.h"
#include "signals.h"
#include "usage.h"

namespace qtool::tool {
namespace {

// One line per command, in the order of `qtool --help`. Also declares it.
#define QTOOL_COMMANDS(command)                                                           \
  command(add_auto) command(add_calibrate) command(add_images) command(add_quantize)      \
      command(add_infer) command(add_eval) command(add_analyze) command(add_search)       \
          command(add_compare) command(add_inspect) command(add_table) command(add_bench) \
              command(add_completion) command(add_help)

#define QTOOL_DECLARE(name) void name(CLI::App& app, Session& session);
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

int report_usage(const CLI::App& app, std::string_view message) {
  error(message);
  const CLI::App& command = innermost(app);
  std::cerr << "Try: qtool " << (&command == &app ? "" : command.get_name() + " ") << "--help\n";
  return kExitUsage;
}

int run(int argc, char** argv) {
  CLI::App app("Post-training INT8 quantization of ONNX networks, from calibration to inference.",
               "qtool");
  app.set_version_flag("--version", "qtool " QTOOL_VERSION);
  app.formatter(std::make_shared<HelpPage>());
  app.set_config("--config", "", "Read options from a TOML or INI file")->type_name("FILE");
  app.config_formatter(std::make_shared<ConfigFile>(app));
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  Session session;
  for (const AddCommand add : kCommands) add(app, session);
  check_flags(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);  // --help, --version
    return report_usage(app, usage_text(app, problem));
  }
  if (!session.run) return report_usage(app, "a command is expected");
  if (app.get_config_ptr()->count() > 0) {
    declare_input(app.get_config_ptr()->as<std::string>());
  }
  static_cast<const Command&>(innermost(app)).require_effect();
  session.run();
  return kExitOk;
}

}  // namespace
}  // namespace qtool::tool

int main(int argc, char** argv) {
  using namespace qtool;
  using namespace qtool::tool;
  set_up_console();
  catch_interrupts();
  keep_command_line(argc, argv);
  int code = kExitFailure;
  try {
    code = run(argc, argv);
  } catch (const Error& problem) {
    error(problem.what());
    if (problem.code() == ErrorCode::kUsage) code = kExitUsage;
  } catch (const std::bad_alloc&) {
    error("not enough memory");
  } catch (const std::exception& problem) {
    error(concat("unexpected: ", problem.what()));
  }
  // After a signal, the exit code is that of the signal, whatever failed because of it.
  return code != kExitOk && interrupted() ? interrupted_exit_code() : code;
}
