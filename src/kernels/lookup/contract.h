#pragma once

#include <cstdint>

namespace qtool {

struct LookupFunctions {
  /// out[i] = table[in[i]]; `table` has 256 entries; `out` may be `in`.
  void (*run)(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out,
              std::int64_t count);
};

#define QTOOL_KERNEL(name) extern const LookupFunctions lookup_##name;
#include "kernels/lookup/lookup.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
