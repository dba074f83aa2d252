#include "base/edit_distance.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace qtool {
namespace {

constexpr std::size_t kPiece = 4096;

template <typename Character>
std::int64_t distance_of_pieces(std::span<const Character> a, std::span<const Character> b) {
  // What both begin and end with costs nothing.
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a = a.subspan(1);
    b = b.subspan(1);
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.first(a.size() - 1);
    b = b.first(b.size() - 1);
  }
  std::vector<std::int64_t> row(b.size() + 1);  // from the beginning of `a` to each part of `b`
  std::iota(row.begin(), row.end(), std::int64_t{0});
  for (const Character character : a) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t replaced = diagonal + (b[j] == character ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

template <typename Character>
std::span<const Character> piece_of(std::span<const Character> text, std::size_t at) {
  if (at >= text.size()) return {};
  return text.subspan(at, std::min(kPiece, text.size() - at));
}

template <typename Character>
std::int64_t distance_of(std::span<const Character> a, std::span<const Character> b) {
  std::int64_t distance = 0;
  for (std::size_t at = 0; at < std::max(a.size(), b.size()); at += kPiece) {
    distance += distance_of_pieces(piece_of(a, at), piece_of(b, at));
  }
  return distance;
}

}  // namespace

std::int64_t edit_distance(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return distance_of(a, b);
}

std::int64_t edit_distance(std::string_view a, std::string_view b) {
  return distance_of(std::span(a), std::span(b));
}

}  // namespace qtool
