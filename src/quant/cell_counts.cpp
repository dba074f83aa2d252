#include "qtool/quant/cell_counts.h"

#include <limits>
#include <utility>

namespace qtool {
namespace {

constexpr std::int64_t kMostRecent = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void CellCounts::grow_front(std::size_t cells) {
  lanes_.insert(lanes_.begin(), cells, CellLanes{});
  // Room for more than the lanes hold may have been asked for before there were cells.
  if (!archived_.empty() || recent_ > kMostRecent) archived_.insert(archived_.begin(), cells, 0);
}

void CellCounts::make_room(std::int64_t values) {
  if (empty() || values <= kMostRecent - recent_) {
    recent_ += values;
    return;
  }
  archived_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const CellLanes lanes = std::exchange(lanes_[i], CellLanes{});
    archived_[i] += std::int64_t{lanes[0]} + lanes[1];
  }
  recent_ = values;
}

std::int64_t CellCounts::take(std::size_t cell) noexcept {
  const std::int64_t count = at(cell);
  lanes_[cell] = {};
  if (!archived_.empty()) archived_[cell] = 0;
  return count;
}

}  // namespace qtool
