#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <utility>

namespace qtool::tool {

/// Lays a page out for the terminal: paragraphs, and lists of terms with their meanings in two
/// columns, at most 80 columns wide, less on a narrower terminal.
class Page {
 public:
  Page();
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

/// The pages of --help (one screen of common options) and --help-all (every option, in groups).
class HelpPage : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace qtool::tool
