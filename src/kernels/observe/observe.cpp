#include "kernels/observe/observe.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace qtool {
namespace {

constexpr KernelRow<ObserveFunctions> kRows[] = {
#define QTOOL_KERNEL(name, isa) {#name, Isa::isa, &observe_##name},
#include "kernels/observe/observe.inc"
#undef QTOOL_KERNEL
};

// Values whose cells wait on the stack: few enough to stay in the first-level cache beside the
// values and the counts, enough to make the loop's end rare.
constexpr std::int64_t kBlock = 2048;

// Two values in a row often have the same cell, above all where an activation saturates. They count
// in different lanes, and both lanes are read before either is written: the second value does not
// wait for the first one's store.
void count_all(const std::int32_t* cells, std::int64_t count, CellLanes* lanes) {
  const auto count_two = [lanes](std::int64_t first, std::int64_t second) {
    const std::uint32_t first_count = lanes[first][0];
    const std::uint32_t second_count = lanes[second][1];
    lanes[first][0] = first_count + 1;
    lanes[second][1] = second_count + 1;
  };
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    count_two(cells[i], cells[i + 1]);
    count_two(cells[i + 2], cells[i + 3]);
  }
  for (; i < count; ++i) ++lanes[cells[i]][0];
}

}  // namespace

std::span<const KernelRow<ObserveFunctions>> observe_kernels() noexcept { return kRows; }

std::int64_t ObserveKernel::count(const float* values, std::int64_t count, float cells_per_unit,
                                  CellLanes* lanes) const {
  alignas(64) std::array<std::int32_t, static_cast<std::size_t>(kBlock + kCellSlack)> cells;
  std::int64_t zeros = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t block = std::min(kBlock, count - begin);
    const std::int64_t kept =
        row_->functions->cells(values + begin, block, cells_per_unit, cells.data());
    count_all(cells.data(), kept, lanes);
    zeros += block - kept;
  }
  return zeros;
}

}  // namespace qtool
