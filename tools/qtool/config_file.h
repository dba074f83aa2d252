#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <vector>

namespace qtool::tool {

/// Reads `--config` files (TOML / INI: `key = value`, keys are long option names without dashes).
/// A section [calibrate] speaks to that command alone; keys before any section speak to whichever
/// command runs, if it has that option. What the command line says wins over the file.
/// A key that no command knows is an error that lists the nearest names.
class ConfigFile : public CLI::ConfigBase {
 public:
  explicit ConfigFile(CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  CLI::App& app_;
};

}  // namespace qtool::tool
