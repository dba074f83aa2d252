#include <cstdint>

#include "kernels/lookup/contract.h"

namespace qtool {
namespace {

void run_lookup(const LookupCall& call) {
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const std::uint8_t* in = call.in + r * call.in_stride;
    std::uint8_t* out = call.out + r * call.out_stride;
    for (std::int64_t i = 0; i < call.width; ++i) out[i] = call.table[in[i]];
  }
}

}  // namespace

constexpr LookupFunctions lookup_portable = {run_lookup};

}  // namespace qtool
