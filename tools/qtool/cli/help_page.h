#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "cli/program.h"

namespace qtool::tool {

/// Lays a page out for the terminal: paragraphs, and lists of terms with their meanings in two
/// columns, at most 80 columns wide, less on a narrower terminal.
class HelpLayout {
 public:
  HelpLayout();
  void paragraph(const std::string& text);
  void title(const std::string& text);
  void line(const std::string& text);
  void row(const std::string& term, const std::string& text, std::size_t text_column = 26);
  void command_line(const std::string& line);
  void usage(const std::string& line);
  std::string take() { return std::move(out_); }

 private:
  std::size_t width_;
  std::string out_;
};

/// The page that `qtool --help` prints.
std::string help_page(const Program& program);
/// The page that --help of a command prints: one screen of common options.
std::string help_page(const Command& command);
/// The page that --help-all of a command prints: every option, in groups.
std::string whole_help_page(const Program& program, const Command& command);

}  // namespace qtool::tool
