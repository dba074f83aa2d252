#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace qtool {

/// Disjoint sets of the numbers from 0 to size() - 1 (union-find). At first each number is a set of
/// its own; join() joins two sets. Cost of a call: nearly constant, since root() shortens the paths
/// that later calls follow.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }
  /// The number that represents the set of `i`.
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// Joins the two sets. The root of `into` represents the joined set.
  void join(std::size_t into, std::size_t i) { parent_[root(i)] = root(into); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace qtool
