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

void count_all(const std::int32_t* cells, std::int64_t count, std::uint16_t* counters) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    ++counters[cells[i]];
    ++counters[cells[i + 1]];
    ++counters[cells[i + 2]];
    ++counters[cells[i + 3]];
  }
  for (; i < count; ++i) ++counters[cells[i]];
}

}  // namespace

std::span<const KernelRow<ObserveFunctions>> observe_kernels() noexcept { return kRows; }

std::int64_t ObserveKernel::count(const float* values, std::int64_t count, float cells_per_unit,
                                  std::uint16_t* counters) const {
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
