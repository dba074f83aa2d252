#include "cli/program.h"

#include <utility>

namespace qtool::tool {

Program::Program(std::string summary, std::string footer)
    : summary_(std::move(summary)), footer_(std::move(footer)) {
  const auto add = [this](const char* names, const char* text) -> Option& {
    return *options_.emplace_back(std::make_unique<Option>(names, nullptr, text));
  };
  add("-h,--help", "Show this page");
  add("--version", "Show the version");
  add("--config", "Read options from a TOML or INI file").placeholder("FILE").group(kGeneralGroup);
}

Command& Program::add_command(const std::string& name, const std::string& summary,
                              std::vector<std::string> examples) {
  commands_.push_back(std::make_unique<Command>(name, summary, std::move(examples)));
  return *commands_.back();
}

}  // namespace qtool::tool
