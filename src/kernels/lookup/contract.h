#pragma once

#include <cstdint>

namespace qtool {

/// out[r][i] = table[in[r][i]] for `rows` rows of `width` bytes.
struct LookupCall {
  const std::uint8_t* table = nullptr;  ///< 256 entries
  const std::uint8_t* in = nullptr;
  std::int64_t in_stride = 0;   ///< bytes between rows
  std::uint8_t* out = nullptr;  ///< may be `in`, with the same stride
  std::int64_t out_stride = 0;
  std::int64_t rows = 1;
  std::int64_t width = 0;
};

struct LookupFunctions {
  void (*run)(const LookupCall& call);
};

#define QTOOL_KERNEL(name) extern const LookupFunctions lookup_##name;
#include "kernels/lookup/lookup.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
