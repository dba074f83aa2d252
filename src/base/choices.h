#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// End of an error message about a name that is not in a short list: the suggestion of
/// did_you_mean(), or the whole list as "; expected a, b or c" when no name is near.
std::string expected_text(std::string_view name, std::span<const std::string> candidates);

/// Throws Error(kUsage): "<kind> '<name>' is unknown", with expected_text().
[[noreturn]] void refuse_name(std::string_view name, std::span<const std::string> candidates,
                              std::string_view kind);

/// The row called `name` of a list whose rows have a member `name`. Throws as refuse_name(). Cost:
/// linear in the list.
template <typename Rows>
const auto& find_by_name(const Rows& rows, std::string_view name, std::string_view kind) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  refuse_name(name, names, kind);
}

/// The names of a list, and the help text `one does this; two does that` of their summaries.
struct NamesAndHelp {
  std::vector<std::string> names;
  std::string help;
};
template <typename Rows>
NamesAndHelp names_and_help(const Rows& rows) {
  NamesAndHelp all;
  for (const auto& row : rows) {
    if (!all.help.empty()) all.help += "; ";
    all.help.append(row.name).append(" ").append(row.summary);
    all.names.emplace_back(row.name);
  }
  return all;
}

}  // namespace qtool
