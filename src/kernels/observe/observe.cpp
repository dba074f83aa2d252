#include "kernels/observe/observe.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace qtool {
namespace {

constexpr KernelRow<ObserveFunctions> kObserveRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &observe_##name},
#include "kernels/observe/observe.inc"
#undef QTOOL_KERNEL
};

// The number of values per block. The cells of a block are on the stack. A block is small enough
// for the first-level cache beside the values and the counters, and large enough to make the
// overhead per block small.
constexpr std::int64_t kObservedBlock = 2048;

// The number of parts of a block that are counted in turn. Neighbouring values are often equal, and
// an addition to a counter waits for the previous addition to the same counter.
constexpr std::int64_t kParts = 8;

// The empty asm makes the compiler keep the address in one register: with an address of two
// registers an x86 addition to memory takes twice as many micro-operations.
inline void add_one(std::uint16_t* counter) {
  asm("" : "+r"(counter));
  ++*counter;
}

// Adds one to the counter of every cell.
void count_all(const std::int32_t* cells, std::int64_t count, std::uint16_t* counters) {
  const std::int64_t part = count / kParts;
  for (std::int64_t i = 0; i < part; ++i) {
    for (std::int64_t p = 0; p < kParts; ++p) add_one(counters + cells[p * part + i]);
  }
  for (std::int64_t i = kParts * part; i < count; ++i) add_one(counters + cells[i]);
}

}  // namespace

std::span<const KernelRow<ObserveFunctions>> observe_kernels() noexcept { return kObserveRows; }

std::int64_t ObserveKernel::count(const float* values, std::int64_t count, float cells_per_unit,
                                  Signs signs, std::uint16_t* counters) const {
  alignas(64) std::array<std::int32_t, static_cast<std::size_t>(kObservedBlock + kCellSlack)> cells;
  std::int64_t zeros = 0;
  for (std::int64_t begin = 0; begin < count; begin += kObservedBlock) {
    const std::int64_t block = std::min(kObservedBlock, count - begin);
    const std::int64_t kept =
        row_->functions->cells(values + begin, block, cells_per_unit, signs, cells.data());
    count_all(cells.data(), kept, counters);
    zeros += block - kept;
  }
  return zeros;
}

}  // namespace qtool
