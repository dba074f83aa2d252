#include "command.h"

namespace qtool::tool {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& example) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->fallthrough();
  command->footer(
      "--config FILE reads options from a TOML or INI file (key = value).\nExample:\n  " + example);
  return command;
}

}  // namespace qtool::tool
