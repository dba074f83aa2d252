#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qtool {

/// Counts that are written at random, value after value: a byte each, which fits the nearest
/// caches, and a carry that is touched once in 256 times. 5 bytes per cell; counts beyond 2^40 - 1
/// add 8.
class CellCounts {
 public:
  [[nodiscard]] bool empty() const noexcept { return low_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return low_.size(); }

  /// Adds `cells` cells of count 0 before the first.
  void grow_front(std::size_t cells);
  /// Makes sure that `values` more can be counted one by one without a carry wrapping to 0.
  void make_room(std::int64_t values);

  [[nodiscard]] std::int64_t at(std::size_t cell) const noexcept {
    return low_[cell] + 256 * std::int64_t{carries_[cell]} +
           (archived_.empty() ? 0 : archived_[cell]);
  }
  /// Adds to one cell; the room must be there.
  void add(std::size_t cell, std::int64_t count) noexcept;
  /// The count of a cell, which is 0 afterwards.
  std::int64_t take(std::size_t cell) noexcept;

  [[nodiscard]] std::uint8_t* low() noexcept { return low_.data(); }
  [[nodiscard]] std::uint32_t* carries() noexcept { return carries_.data(); }

 private:
  std::int64_t recent_ = 0;  // values counted in low_ and carries_
  std::vector<std::uint8_t> low_;
  std::vector<std::uint32_t> carries_;
  std::vector<std::int64_t> archived_;  // empty until the carries would overflow
};

}  // namespace qtool
