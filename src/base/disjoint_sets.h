#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace qtool {

/// Numbers from 0 on, in sets that are joined step by step. Each begins alone. Cost of a call:
/// nearly constant, since root() shortens the way for the next one.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }
  /// The number that stands for the set of `i`.
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// The root of `into` stands for both sets from now on.
  void join(std::size_t into, std::size_t i) { parent_[root(i)] = root(into); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace qtool
