#include "qtool/quant/cell_counts.h"

#include "base/check.h"

namespace qtool {

void CellCounts::grow_front(std::size_t cells) {
  counters_.insert(counters_.begin(), cells, 0);
  if (!carried_.empty()) carried_.insert(carried_.begin(), cells, 0);
}

// Bounds the counters by what they really hold, which is mostly far less than the values counted;
// moves what is too much for `values` more.
void CellCounts::carry(std::int64_t values) {
  QTOOL_CHECK(values <= kMostAtOnce);
  std::uint16_t bits = 0;  // of all counters: none is larger
  for (const std::uint16_t counter : counters_) bits = static_cast<std::uint16_t>(bits | counter);
  if (bits >= kCarry) {
    carried_.resize(size());
    for (std::size_t cell = 0; cell < size(); ++cell) {
      carried_[cell] += static_cast<std::uint32_t>(counters_[cell] / kCarry);
      counters_[cell] = static_cast<std::uint16_t>(counters_[cell] % kCarry);
    }
    bits = static_cast<std::uint16_t>(kCarry - 1);
  }
  bound_ = std::int64_t{bits} + values;
}

void CellCounts::add(std::size_t cell, std::int64_t count) {
  const std::int64_t sum = at(cell) + count;
  QTOOL_CHECK(sum <= kLargestCount);
  if (sum >= kCarry && carried_.empty()) carried_.resize(size());
  if (!carried_.empty()) carried_[cell] = static_cast<std::uint32_t>(sum / kCarry);
  counters_[cell] = static_cast<std::uint16_t>(sum % kCarry);
  if (bound_ < kCarry - 1) bound_ = kCarry - 1;
}

std::int64_t CellCounts::take(std::size_t cell) noexcept {
  const std::int64_t count = at(cell);
  counters_[cell] = 0;
  if (!carried_.empty()) carried_[cell] = 0;
  return count;
}

}  // namespace qtool
