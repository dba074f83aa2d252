#include <cstdint>

#include "kernels/lookup/contract.h"

namespace qtool {
namespace {

void run_lookup(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = table[in[i]];
}

}  // namespace

constexpr LookupFunctions lookup_portable = {run_lookup};

}  // namespace qtool
