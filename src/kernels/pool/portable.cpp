#include <algorithm>
#include <cstdint>

#include "kernels/pool/contract.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

void max(const PoolCall& call) {
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    const std::uint8_t* pixel = call.base + p * call.in_step;
    std::uint8_t* out = call.out + p * call.out_step;
    std::copy_n(pixel + call.offsets[0], call.channels, out);
    for (std::int64_t t = 1; t < call.taps; ++t) {
      const std::uint8_t* tap = pixel + call.offsets[t];
      for (std::int64_t c = 0; c < call.channels; ++c) out[c] = std::max(out[c], tap[c]);
    }
  }
}

void average(const PoolCall& call) {
  constexpr std::int64_t kSumBlock = 64;
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    for (std::int64_t first = 0; first < call.channels; first += kSumBlock) {
      const std::int64_t count = std::min(kSumBlock, call.channels - first);
      const std::uint8_t* pixel = call.base + p * call.in_step + first;
      std::uint8_t* out = call.out + p * call.out_step + first;
      std::int32_t sum[kSumBlock] = {};
      for (std::int64_t t = 0; t < call.taps; ++t) {
        const std::uint8_t* tap = pixel + call.offsets[t];
        for (std::int64_t c = 0; c < count; ++c) sum[c] += tap[c];
      }
      for (std::int64_t c = 0; c < count; ++c) {
        out[c] = round_to_u8(static_cast<float>(sum[c] - call.offset) * call.multiplier,
                             call.zero_point, call.low, call.high);
      }
    }
  }
}

}  // namespace

constexpr PoolFunctions pool_portable = {max, average};

}  // namespace qtool
