#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qtool {

/// Counts that are written at random, value after value: 2 bytes per cell, so that many of them
/// stay in the caches, and 4 more per cell once one of them passes 2^15. A count can reach 2^46.
class CellCounts {
 public:
  /// Most values that one make_room() is for.
  static constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 15;
  static constexpr std::int64_t kLargestCount = std::int64_t{1} << 46;

  [[nodiscard]] bool empty() const noexcept { return counters_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return counters_.size(); }

  /// Adds `cells` cells of count 0 before the first.
  void grow_front(std::size_t cells);

  /// Makes sure that none of counters() overflows while `values` more are counted in them, at most
  /// kMostAtOnce. Cost: none most times; every 2^15 to 2^16 values, a look at all cells.
  void make_room(std::int64_t values) {
    bound_ += values;
    if (bound_ > kCounterMax) carry(values);
  }
  /// One for each cell, to add to after make_room(). Moves when cells are added.
  [[nodiscard]] std::uint16_t* counters() noexcept { return counters_.data(); }

  [[nodiscard]] std::int64_t at(std::size_t cell) const noexcept {
    const std::int64_t carried = carried_.empty() ? 0 : carried_[cell];
    return carried * kCarry + counters_[cell];
  }
  /// Adds to one cell any count, as long as the sum is at most kLargestCount.
  void add(std::size_t cell, std::int64_t count);
  /// The count of a cell, which is 0 afterwards.
  std::int64_t take(std::size_t cell) noexcept;

 private:
  static constexpr std::int64_t kCounterMax = 65535;
  static constexpr std::int64_t kCarry = kMostAtOnce;

  void carry(std::int64_t values);

  std::int64_t bound_ = 0;  // no counter is larger
  std::vector<std::uint16_t> counters_;
  std::vector<std::uint32_t> carried_;  // in units of kCarry; empty until there is one
};

}  // namespace qtool
