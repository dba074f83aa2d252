#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// An id as a number, for code that compares numbers or has a list of its own. To hold one thing
/// per id, use an IdMap.
template <typename Id>
requires std::is_enum_v<Id>
constexpr std::size_t index_of(Id id) noexcept { return static_cast<std::size_t>(id); }

/// The exclusive upper bound of the ids of a graph's nodes as numbers, for an IdMap with one thing
/// per node. Cost: linear in the graph.
inline std::size_t node_limit(const Graph& graph) {
  std::size_t limit = 0;
  for (const NodeId id : graph.nodes()) limit = std::max(limit, index_of(id) + 1);
  return limit;
}

/// One T per id, for ids that count from 0: the values of a graph (Graph::value_limit()), its nodes
/// (node_limit()), or other things with an enum as their id. Ids are not checked.
template <typename Id, typename T>
class IdMap {
  // A std::vector<bool> has no references to its elements. Use char.
  static_assert(!std::is_same_v<T, bool>);

 public:
  IdMap() = default;
  explicit IdMap(std::size_t count) : items_(count) {}
  IdMap(std::size_t count, const T& initial) : items_(count, initial) {}

  [[nodiscard]] T& operator[](Id id) { return items_[index_of(id)]; }
  [[nodiscard]] const T& operator[](Id id) const { return items_[index_of(id)]; }
  /// Whether the map has a thing for this id. False for kNoValue and kNoNode.
  [[nodiscard]] bool contains(Id id) const noexcept { return index_of(id) < items_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  void resize(std::size_t count) { items_.resize(count); }
  void resize(std::size_t count, const T& added) { items_.resize(count, added); }
  friend bool operator==(const IdMap&, const IdMap&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace qtool
