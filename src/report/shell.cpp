#include "report/shell.h"

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"

namespace qtool {

std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    line += to_text(line.empty() ? "" : " ", shell_word(word));
  }
  return line;
}

std::string printable_line(std::vector<std::string> words) {
  for (std::string& word : words) word = printable(word);
  return shell_line(words);
}

void add_option(std::string_view option, const std::string& value,
                std::vector<std::string>& words) {
  if (value.starts_with('-')) {
    words.push_back(to_text(option, "=", value));
  } else {
    words.insert(words.end(), {std::string(option), value});
  }
}

}  // namespace qtool
