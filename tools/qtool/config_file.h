#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <vector>

namespace qtool::tool {

/// Reads `--config` files (TOML / INI: `key = value`, keys are long option names without dashes). A
/// section [calibrate] is for that command only; keys before any section are for every command that
/// has the option. The command line overrides the file.
/// A key that no command knows is an error that lists the nearest names.
class ConfigFile : public CLI::ConfigBase {
 public:
  explicit ConfigFile(CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  CLI::App& app_;
};

}  // namespace qtool::tool
