#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// The words as one text: `a, b or c`.
std::string alternatives(std::span<const std::string> words);

/// At most `count` candidates that `name` may be a misspelling of, nearest first. At most a third
/// of the letters differ, or the candidate contains `name`, or `name` begins with the candidate.
/// Cost: O(candidates x lengths).
std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates,
                                       std::size_t count = 3);

/// The end of an error message about a name that is not among `candidates`: "; did you mean 'a' or
/// 'b'?", or empty when none is near.
std::string nearest_text(std::string_view name, std::span<const std::string> candidates);

/// True when `name` matches `pattern`, where `*` stands for any text and `?` for one character.
bool matches_pattern(std::string_view name, std::string_view pattern);

/// End of an error message about a name that is not in a short list: the suggestion of
/// nearest_text(), or the whole list as "; expected a, b or c" when no name is near.
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

/// Indices of the names that equal or match one of `patterns`, see matches_pattern(). Throws
/// Error(kUsage) for a pattern that matches no name; the message is "'conv9' matches no <kind>" and
/// suggests similar names. Cost: O(names x patterns).
std::vector<std::size_t> match_names(std::span<const std::string> names,
                                     std::span<const std::string> patterns, std::string_view kind);

}  // namespace qtool
