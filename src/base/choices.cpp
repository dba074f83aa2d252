#include "base/choices.h"

#include "base/text.h"

namespace qtool {

std::string alternatives(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += concat(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

std::string expected_text(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = nearest_text(name, candidates);
  return near.empty() ? concat("; expected ", alternatives(candidates)) : near;
}

}  // namespace qtool
