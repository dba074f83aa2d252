#include "qtool/quant/cell_counts.h"

#include <utility>

namespace qtool {
namespace {

constexpr std::int64_t kMostRecent = (std::int64_t{1} << 40) - 1;

}  // namespace

void CellCounts::grow_front(std::size_t cells) {
  low_.insert(low_.begin(), cells, 0);
  carries_.insert(carries_.begin(), cells, 0);
  if (!archived_.empty()) archived_.insert(archived_.begin(), cells, 0);
}

void CellCounts::make_room(std::int64_t values) {
  if (values <= kMostRecent - recent_) {
    recent_ += values;
    return;
  }
  archived_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    archived_[i] += std::exchange(low_[i], std::uint8_t{0});
    archived_[i] += 256 * std::int64_t{std::exchange(carries_[i], 0U)};
  }
  recent_ = values;
}

void CellCounts::add(std::size_t cell, std::int64_t count) noexcept {
  if (!archived_.empty()) {
    archived_[cell] += count;
    return;
  }
  const std::int64_t sum = low_[cell] + count;
  low_[cell] = static_cast<std::uint8_t>(sum % 256);
  carries_[cell] += static_cast<std::uint32_t>(sum / 256);
}

std::int64_t CellCounts::take(std::size_t cell) noexcept {
  const std::int64_t count = at(cell);
  low_[cell] = 0;
  carries_[cell] = 0;
  if (!archived_.empty()) archived_[cell] = 0;
  return count;
}

}  // namespace qtool
