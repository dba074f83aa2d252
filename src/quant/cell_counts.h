#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qtool {

/// Counters of histogram cells. Cells are incremented in random order, so counters have only 2
/// bytes: more of them fit the caches. Larger counts are carried to pages of 1,024 cells of 4 bytes
/// each. A page exists only if a count of its cells was carried. A count can reach 2^45.
class CellCounts {
 public:
  /// The largest number of values in one call of make_room().
  static constexpr std::int64_t kMaxAtOnce = std::int64_t{1} << 15;
  static constexpr std::int64_t kMaxCount = std::int64_t{1} << 45;

  [[nodiscard]] bool empty() const noexcept { return counters_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return counters_.size(); }

  /// The cells [first, end).
  struct Span {
    std::size_t first;
    std::size_t end;
  };

  /// Adds `cells` cells of count 0 before the first.
  void grow_front(std::size_t cells) { counters_.insert(counters_.begin(), cells, 0); }

  /// Makes sure that no counter overflows while `values` more values (at most kMaxAtOnce) are
  /// counted. `in_use()` returns a Span that contains every cell that is not 0. Cost: usually none;
  /// on average at most once per 24,576 values, a scan of these cells.
  template <typename InUse>
  void make_room(std::int64_t values, const InUse& in_use) {
    bound_ += values;
    if (bound_ > kCounterMax) carry(values, in_use());
  }
  /// Gives room back: `values` of the values announced in the last make_room() were not counted.
  void give_back(std::int64_t values) noexcept { bound_ -= values; }
  /// One counter per cell, to be incremented after make_room(). The address changes when cells are
  /// added.
  [[nodiscard]] std::uint16_t* counters() noexcept { return counters_.data(); }
  [[nodiscard]] const std::uint16_t* counters() const noexcept { return counters_.data(); }

  [[nodiscard]] std::int64_t at(std::size_t cell) const noexcept {
    const std::size_t index = index_of(cell);
    const std::size_t page = index / kPage;
    const bool carried = page < pages_.size() && !pages_[page].empty();
    return counters_[cell] + (carried ? std::int64_t{pages_[page][index % kPage]} * kCarry : 0);
  }
  /// The counts of these cells. Cost: 0.5 ns per cell.
  [[nodiscard]] std::vector<std::int64_t> range(const Span& span) const;
  /// Adds any count to one cell; the sum must not exceed kMaxCount.
  void add(std::size_t cell, std::int64_t count);
  /// Returns the count of a cell and sets it to 0.
  std::int64_t take(std::size_t cell) {
    if (counters_[cell] == 0 && pages_.empty())
      return 0;  // the usual case while the range still grows
    const std::int64_t count = at(cell);
    if (count > 0) set(cell, 0);
    return count;
  }

 private:
  static constexpr std::int64_t kCounterMax = 65535;
  static constexpr std::int64_t kCarry = std::int64_t{1} << 14;
  static constexpr std::size_t kPage = 1024;

  // Pages are numbered backwards from the last cell, so adding cells in front moves no page.
  [[nodiscard]] std::size_t index_of(std::size_t cell) const noexcept { return size() - 1 - cell; }
  void carry(std::int64_t values, const Span& in_use);
  void set(std::size_t cell, std::int64_t count);

  std::int64_t bound_ = 0;  // upper bound of all counters
  std::vector<std::uint16_t> counters_;
  std::vector<std::vector<std::uint32_t>> pages_;  // in units of kCarry; empty or kPage cells each
};

}  // namespace qtool
