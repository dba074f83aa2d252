#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/option_text.h"
#include "documents.h"

namespace qtool::tool {
namespace {

/// The facts that a shell needs to know about one option.
struct Entry {
  const Option* option;
  OptionText text;

  [[nodiscard]] bool takes_path() const {
    constexpr std::array<std::string_view, 4> kPaths = {"FILE", "DIR", "MODEL", "TABLE"};
    const std::string& value = option->is_positional() ? text.names.front() : text.value;
    return std::any_of(kPaths.begin(), kPaths.end(), [&](std::string_view path) {
      return value.find(path) != std::string::npos;
    });
  }
};

std::vector<Entry> entries_of(const Program& program, const Command& command) {
  std::vector<Entry> entries;
  for (const OptionGroup& group : groups_of(program, command)) {
    for (const Option* option : group.options) {
      entries.push_back({option, describe(command, *option)});
    }
  }
  return entries;
}

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) text += to_text(text.empty() ? "" : between, word);
  return text;
}

/// The text in single quotes, with a backslash before each character of `special`.
std::string in_quotes(std::string_view text, std::string_view special = "") {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return to_text("'", out, "'");
}

// Words that are not completed here are completed as files, by `-o default`.
std::string bash(const Program& program) {
  std::string names;
  std::string options;
  std::string values;
  for (const auto& command : program.commands()) {
    const std::string& name = command->name();
    names += to_text(names.empty() ? "" : " ", name);
    std::vector<std::string> all;
    for (const Entry& entry : entries_of(program, *command)) {
      if (entry.option->is_positional()) {
        if (entry.option->words().empty()) continue;
        values += to_text("    ", name, ":", name,
                          ") words=", in_quotes(joined(entry.option->words())), " ;;\n");
        continue;
      }
      all.insert(all.end(), entry.text.names.begin(), entry.text.names.end());
      if (entry.text.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& option : entry.text.names) patterns.push_back(name + ":" + option);
      values += to_text("    ", joined(patterns, "|"),
                        ") words=", in_quotes(joined(entry.option->words())), " ;;\n");
    }
    options += to_text("        ", name, ") words=", in_quotes(joined(all)), " ;;\n");
  }
  return to_text(
      "# bash completion for qtool\n"
      "_qtool() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command='' words='' word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \" ",
      names,
      " \" in *\" $word \"*) command=$word; break ;; esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case $command:$before in\n",
      values,
      "    *)\n"
      "      case $command in\n"
      "        '') words=",
      in_quotes(names + " --help --version --config"), " ;;\n", options,
      "      esac\n"
      "      [[ -z $command || $current == -* ]] || return 0 ;;\n"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "}\n"
      "complete -o default -F _qtool qtool\n");
}

std::string zsh_action(const Entry& entry) {
  if (!entry.option->words().empty()) return to_text("(", joined(entry.option->words()), ")");
  return entry.takes_path() ? "_files" : " ";
}

std::string zsh(const Program& program) {
  constexpr std::string_view kSpecial = "[]:\\";
  std::string names;
  std::string cases;
  for (const auto& command : program.commands()) {
    const std::string& name = command->name();
    names += to_text("    ", in_quotes(to_text(name, ":", command->summary())), "\n");
    cases += to_text("    ", name, ")\n      _arguments");
    for (const Entry& entry : entries_of(program, *command)) {
      const std::string action = zsh_action(entry);
      if (entry.option->is_positional()) {
        cases +=
            to_text(" \\\n        ", in_quotes(to_text(entry.option->takes_several() ? "*:" : ":",
                                                       command->name(), ":", action)));
        continue;
      }
      for (const std::string& option : entry.text.names) {
        std::string spec =
            in_quotes(to_text(entry.option->takes_several() ? "*" : "", option, "["));
        spec.pop_back();
        spec += in_quotes(entry.text.summary, kSpecial).substr(1);
        spec.pop_back();
        spec += "]";
        if (!entry.text.value.empty()) {
          spec += in_quotes(to_text(":", entry.text.value, ":", action)).substr(1);
        } else {
          spec += "'";
        }
        cases += to_text(" \\\n        ", spec);
      }
    }
    cases += "\n      ;;\n";
  }
  return to_text(
      "#compdef qtool\n"
      "_qtool() {\n"
      "  local -a commands=(\n",
      names,
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n",
      cases,
      "  esac\n"
      "}\n"
      "_qtool \"$@\"\n");
}

std::string fish(const Program& program) {
  std::string out = "# fish completion for qtool\n";
  for (const auto& command : program.commands()) {
    out += to_text("complete -c qtool -n __fish_use_subcommand -a ", command->name(), " -d ",
                   in_quotes(command->summary(), "\\"), "\n");
  }
  for (const auto& command : program.commands()) {
    const std::string start =
        to_text("complete -c qtool -n '__fish_seen_subcommand_from ", command->name(), "'");
    for (const Entry& entry : entries_of(program, *command)) {
      if (entry.option->is_positional()) {
        if (!entry.option->words().empty())
          out += to_text(start, " -a ", in_quotes(joined(entry.option->words())), "\n");
        continue;
      }
      out += start;
      for (const std::string& name : entry.text.names) {
        out += name.starts_with("--") ? to_text(" -l ", name.substr(2))
                                      : to_text(" -s ", name.substr(1));
      }
      if (!entry.text.value.empty()) out += entry.takes_path() ? " -r" : " -x";
      if (!entry.option->words().empty())
        out += to_text(" -a ", in_quotes(joined(entry.option->words())));
      out += to_text(" -d ", in_quotes(entry.text.summary, "\\"), "\n");
    }
  }
  return out;
}

}  // namespace

std::string completion(const Program& program, const std::string& shell) {
  return shell == "zsh" ? zsh(program) : shell == "fish" ? fish(program) : bash(program);
}

}  // namespace qtool::tool
