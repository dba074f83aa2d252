#include "quant/cell_counts.h"

#include <algorithm>

#include "base/check.h"

namespace qtool {

// Carries large counters to their pages and computes the exact bound of the others, which is
// usually far below the number of values counted.
void CellCounts::carry(std::int64_t values, const Span& in_use) {
  QTOOL_CHECK(values <= kMaxAtOnce && in_use.end <= size());
  unsigned bound = 0;
  for (std::size_t begin = in_use.first; begin < in_use.end; begin += kPage) {
    const std::size_t stop = std::min(begin + kPage, in_use.end);
    std::uint16_t bits = 0;  // OR of all counters of the block: an upper bound
// Unrolled because there is little work per counter: the loop overhead would double the cost.
#pragma GCC unroll 8
    for (std::size_t cell = begin; cell < stop; ++cell) {
      bits = static_cast<std::uint16_t>(bits | counters_[cell]);
    }
    if (bits >= kCarry) {
      for (std::size_t cell = begin; cell < stop; ++cell) {
        if (counters_[cell] >= kCarry) set(cell, at(cell));
      }
      bits = static_cast<std::uint16_t>(kCarry - 1);
    }
    bound |= bits;
  }
  bound_ = std::int64_t{bound} + values;
}

void CellCounts::set(std::size_t cell, std::int64_t count) {
  counters_[cell] = static_cast<std::uint16_t>(count % kCarry);
  const std::size_t index = index_of(cell);
  const std::size_t page = index / kPage;
  if (count >= kCarry) {
    if (page >= pages_.size()) pages_.resize(page + 1);
    pages_[page].resize(kPage);
  }
  if (page < pages_.size() && !pages_[page].empty()) {
    pages_[page][index % kPage] = static_cast<std::uint32_t>(count / kCarry);
  }
}

std::vector<std::int64_t> CellCounts::range(const Span& span) const {
  QTOOL_CHECK(span.first <= span.end && span.end <= size());
  std::vector<std::int64_t> counts(counters_.begin() + static_cast<std::ptrdiff_t>(span.first),
                                   counters_.begin() + static_cast<std::ptrdiff_t>(span.end));
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    for (std::size_t i = 0; i < pages_[page].size(); ++i) {
      const std::size_t index = page * kPage + i;
      if (index >= size()) break;  // the page reaches beyond the first cell
      const std::size_t cell = size() - 1 - index;
      if (cell >= span.first && cell < span.end)
        counts[cell - span.first] += pages_[page][i] * kCarry;
    }
  }
  return counts;
}

void CellCounts::add(std::size_t cell, std::int64_t count) {
  const std::int64_t sum = at(cell) + count;
  QTOOL_CHECK(sum <= kMaxCount);
  set(cell, sum);
  if (bound_ < kCarry - 1) bound_ = kCarry - 1;
}

}  // namespace qtool
