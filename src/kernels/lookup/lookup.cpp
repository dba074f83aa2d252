#include "kernels/lookup/lookup.h"

#include <cstring>

namespace qtool {
namespace {

constexpr KernelRow<LookupFunctions> kLookupRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &lookup_##name},
#include "kernels/lookup/lookup.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<LookupFunctions>> lookup_kernels() noexcept { return kLookupRows; }

void lookup_by_channel(std::span<const std::uint8_t> tables, std::int64_t channels,
                       const std::uint8_t* in, std::uint8_t* out, std::int64_t pixels) {
  // All bytes of a step are read before any byte is written, so that the compiler may process
  // several bytes at a time.
  constexpr std::int64_t kStep = 8;
  for (std::int64_t p = 0; p < pixels; ++p) {
    std::int64_t c = 0;
    for (; c + kStep <= channels; c += kStep) {
      const std::uint8_t* row = tables.data() + c * 256;
      std::uint8_t step[kStep];
      for (std::int64_t i = 0; i < kStep; ++i) step[i] = row[i * 256 + in[c + i]];
      std::memcpy(out + c, step, kStep);
    }
    for (; c < channels; ++c) out[c] = tables[static_cast<std::size_t>(c * 256 + in[c])];
    in += channels;
    out += channels;
  }
}

}  // namespace qtool
