#include "qtool/quant/cell_counts.h"

#include "base/check.h"

namespace qtool {

// Bounds the counters by what they really hold, which is mostly far less than the values counted;
// moves what is too much for `values` more.
void CellCounts::carry(std::int64_t values) {
  QTOOL_CHECK(values <= kMostAtOnce);
  std::uint16_t bits = 0;  // of all counters: none is larger
  for (const std::uint16_t counter : counters_) bits = static_cast<std::uint16_t>(bits | counter);
  bound_ = bits;
  if (bound_ >= kCarry) {
    for (std::size_t cell = 0; cell < size(); ++cell) {
      if (counters_[cell] >= kCarry) set(cell, at(cell));
    }
    bound_ = kCarry - 1;
  }
  bound_ += values;
}

void CellCounts::set(std::size_t cell, std::int64_t count) {
  counters_[cell] = static_cast<std::uint16_t>(count % kCarry);
  const std::size_t place = place_of(cell);
  const std::size_t page = place / kPage;
  if (count >= kCarry) {
    if (page >= pages_.size()) pages_.resize(page + 1);
    pages_[page].resize(kPage);
  }
  if (page < pages_.size() && !pages_[page].empty()) {
    pages_[page][place % kPage] = static_cast<std::uint32_t>(count / kCarry);
  }
}

void CellCounts::add(std::size_t cell, std::int64_t count) {
  const std::int64_t sum = at(cell) + count;
  QTOOL_CHECK(sum <= kLargestCount);
  set(cell, sum);
  if (bound_ < kCarry - 1) bound_ = kCarry - 1;
}

std::int64_t CellCounts::take(std::size_t cell) {
  const std::int64_t count = at(cell);
  if (count > 0) set(cell, 0);
  return count;
}

}  // namespace qtool
