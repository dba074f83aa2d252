#include "kernels/observe/observe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

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

void count_all(const std::int32_t* cells, std::int64_t count, const CellCounters& counters) {
  // In variables of their own: a byte that is written could be part of `counters`.
  std::uint8_t* const low = counters.low;
  std::uint32_t* const carries = counters.carries;
  const auto count_one = [low, carries](std::int64_t cell) {
    if (++low[cell] == 0) [[unlikely]] {
      ++carries[cell];
    }
  };
  std::int64_t i = 0;
  // Two cells per load: the loads compete with those of the counts.
  for (; i + 4 <= count; i += 4) {
    std::array<std::int64_t, 2> pairs;
    std::memcpy(pairs.data(), cells + i, sizeof(pairs));
    count_one(static_cast<std::int32_t>(pairs[0]));
    count_one(pairs[0] >> 32);
    count_one(static_cast<std::int32_t>(pairs[1]));
    count_one(pairs[1] >> 32);
  }
  for (; i < count; ++i) count_one(cells[i]);
}

}  // namespace

std::span<const KernelRow<ObserveFunctions>> observe_kernels() noexcept { return kRows; }

std::int64_t ObserveKernel::count(const float* values, std::int64_t count, float cells_per_unit,
                                  const CellCounters& counters) const {
  alignas(64) std::array<std::int32_t, static_cast<std::size_t>(kBlock + kCellSlack)> cells;
  std::int64_t zeros = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t block = std::min(kBlock, count - begin);
    const std::int64_t kept =
        row_->functions->cells(values + begin, block, cells_per_unit, cells.data());
    count_all(cells.data(), kept, counters);
    zeros += block - kept;
  }
  return zeros;
}

}  // namespace qtool
