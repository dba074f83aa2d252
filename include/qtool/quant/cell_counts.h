#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace qtool {

/// Counts of one cell in parts: a value may be counted in any of them. Whoever counts in turn never
/// waits for the store of the value before, which often has the same cell.
using CellLanes = std::array<std::uint32_t, 2>;

/// Counts that are written at random, value after value. 8 bytes per cell; counting more than
/// 2^32 - 1 values adds 8.
class CellCounts {
 public:
  [[nodiscard]] bool empty() const noexcept { return lanes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }

  /// Adds `cells` cells of count 0 before the first.
  void grow_front(std::size_t cells);
  /// Makes sure that `values` more can be counted: by add(), and when they are below 2^32 also in
  /// lanes().
  void make_room(std::int64_t values);

  [[nodiscard]] std::int64_t at(std::size_t cell) const noexcept {
    const CellLanes& lanes = lanes_[cell];
    return std::int64_t{lanes[0]} + lanes[1] + (archived_.empty() ? 0 : archived_[cell]);
  }
  /// Adds to one cell; the room must be there.
  void add(std::size_t cell, std::int64_t count) noexcept {
    if (archived_.empty()) {
      lanes_[cell][0] += static_cast<std::uint32_t>(count);
    } else {
      archived_[cell] += count;
    }
  }
  /// The count of a cell, which is 0 afterwards.
  std::int64_t take(std::size_t cell) noexcept;

  [[nodiscard]] CellLanes* lanes() noexcept { return lanes_.data(); }

 private:
  std::int64_t recent_ = 0;  // values counted in lanes_
  std::vector<CellLanes> lanes_;
  std::vector<std::int64_t> archived_;  // empty until the lanes would overflow
};

}  // namespace qtool
