#include "cli/help_page.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/option_text.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

constexpr std::size_t kWidest = 80;
constexpr std::size_t kNarrowest = 24;

/// The width of a page in columns, on this terminal or in a file.
std::size_t page_width() {
  return std::clamp(terminal_columns(STDOUT_FILENO).value_or(kWidest), kNarrowest, kWidest);
}

std::string term(const OptionText& text) {
  std::string names;
  for (const std::string& name : text.names) names += to_text(names.empty() ? "" : ", ", name);
  // An option without a short name is indented, so that all long names begin in one column.
  const std::string_view shift = names.starts_with("--") ? "    " : "";
  return to_text(shift, names, text.value.empty() ? "" : " ", text.value);
}

void add_examples(const Command& command, HelpLayout& page) {
  page.title(command.examples().size() == 1 ? "Example" : "Examples");
  for (const std::string& example : command.examples()) page.command_line(example);
}

}  // namespace

HelpLayout::HelpLayout() : width_(page_width()) {}

void HelpLayout::paragraph(const std::string& text) { out_ += wrapped(text, 0, width_) + "\n"; }
void HelpLayout::title(const std::string& text) { out_ += to_text("\n", text, ":\n"); }
void HelpLayout::line(const std::string& text) { out_ += to_text("  ", text, "\n"); }

void HelpLayout::row(const std::string& term, const std::string& text, std::size_t text_column) {
  const std::size_t column = std::min(text_column, width_ / 3);
  const std::size_t indent = term.find_first_not_of(' ');  // wrapped() would remove the indent
  out_ += to_text("  ", term.substr(0, indent), wrapped(term.substr(indent), 4, width_));
  if (term.size() + 4 > column) {
    out_ += to_text("\n", std::string(column, ' '));
  } else {
    out_ += std::string(column - 2 - term.size(), ' ');
  }
  out_ += to_text(wrapped(text, column, width_), "\n");
}

void HelpLayout::command_line(const std::string& line) {
  out_ += to_text("  ", wrapped(line, 6, width_, " \\"), "\n");
}

void HelpLayout::usage(const std::string& line) {
  out_ += to_text("\nUsage: ", wrapped(line, 7, width_), "\n");
}

std::string help_page(const Command& command) {
  HelpLayout page;
  page.paragraph(command.summary() + ".");
  page.usage("qtool " + synopsis(command));
  page.title("Common options");
  for (const Option* option : command.first_options()) {
    const OptionText text = describe(command, *option);
    page.row(term(text), text.summary);
  }
  add_examples(command, page);
  page.paragraph(to_text("\nEvery option: qtool ", command.name(), " --help-all"));
  return page.take();
}

std::string whole_help_page(const Program& program, const Command& command) {
  HelpLayout page;
  page.paragraph(command.summary() + ".");
  page.usage("qtool " + synopsis(command));
  for (const OptionGroup& group : groups_of(program, command)) {
    page.title(group.name);
    for (const Option* option : group.options) {
      const OptionText text = describe(command, *option);
      page.row(term(text), to_text(text.summary, text.details.empty() ? "" : ". ", text.details));
    }
  }
  add_examples(command, page);
  return page.take();
}

std::string help_page(const Program& program) {
  HelpLayout page;
  page.paragraph(program.summary());
  page.usage("qtool COMMAND [options]");
  page.title("Commands");
  for (const auto& command : program.commands()) {
    page.row(command->name(), command->summary(), 14);
  }
  page.title("Options");
  page.row("-h, --help", "Show this page");
  page.row("    --version", "Show the version");
  page.row("    --config FILE", program.config().text());
  page.paragraph("");
  for (const std::string& line : split(program.footer(), '\n')) {
    line.starts_with(' ') ? page.command_line(std::string(trim(line))) : page.paragraph(line);
  }
  return page.take();
}

}  // namespace qtool::tool
