#include <cctype>

#include "base/text.h"
#include "cli/option_text.h"
#include "documents.h"

namespace qtool::tool {
namespace {

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    "0 success, 1 failure, 2 wrong usage, 130 stopped by Ctrl\\-C, 143 by SIGTERM.\n";

/// Text escaped so that troff prints it unchanged.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string head(const std::string& page, const std::string& summary, const std::string& usage) {
  return to_text(".TH ", escaped(upper(page)),
                 " 1 \"\" \"qtool " QTOOL_VERSION "\" \"User Commands\"\n.SH NAME\n", escaped(page),
                 " \\- ", escaped(summary), "\n.SH SYNOPSIS\n", escaped(usage), "\n");
}

std::string entry(const OptionText& text) {
  std::string names;
  for (const std::string& name : text.names) {
    names += to_text(names.empty() ? "" : ", ", "\\fB", escaped(name), "\\fR");
  }
  return to_text(".TP\n", names,
                 text.value.empty() ? "" : to_text(" \\fI", escaped(text.value), "\\fR"), "\n",
                 escaped(text.summary), ".\n",
                 text.details.empty() ? "" : to_text(escaped(text.details), "\n"));
}

}  // namespace

std::string man_page(const Program& program, const Command& command) {
  std::string page = head(to_text("qtool-", command.name()), command.summary(),
                          to_text("qtool ", synopsis(command)));
  page += ".SH OPTIONS\n";
  for (const OptionGroup& group : groups_of(program, command)) {
    page += to_text(".SS ", escaped(group.name), "\n");
    for (const Option* option : group.options) page += entry(describe(command, *option));
  }
  page += ".SH EXAMPLES\n.EX\n";
  for (const std::string& example : command.examples()) page += to_text(escaped(example), "\n");
  return to_text(page, ".EE\n", kExitStatus, ".SH SEE ALSO\n.BR qtool (1)\n");
}

std::string man_page(const Program& program) {
  std::string page =
      head("qtool", "post-training quantization of ONNX networks", "qtool COMMAND [options]");
  page += to_text(".SH DESCRIPTION\n", escaped(program.summary()), "\n.SH COMMANDS\n");
  std::string pages;
  for (const auto& command : program.commands()) {
    page += to_text(".TP\n\\fB", escaped(command->name()), "\\fR\n", escaped(command->summary()),
                    ".\n");
    pages += to_text(pages.empty() ? "" : " ,\n", ".BR qtool\\-", command->name(), " (1)");
  }
  return to_text(page, kExitStatus, ".SH SEE ALSO\n", pages, "\n");
}

}  // namespace qtool::tool
