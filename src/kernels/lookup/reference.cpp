#include "kernels/lookup/lookup.h"

namespace qtool {

void reference_lookup(const LookupCall& call) {
  for (std::int64_t r = 0; r < call.rows; ++r) {
    for (std::int64_t i = 0; i < call.width; ++i) {
      call.out[r * call.out_stride + i] = call.table[call.in[r * call.in_stride + i]];
    }
  }
}

void reference_lookup_by_channel(const std::uint8_t* tables, std::int64_t channels,
                                 const std::uint8_t* in, std::uint8_t* out, std::int64_t pixels) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::int64_t c = 0; c < channels; ++c) {
      out[p * channels + c] = tables[c * 256 + in[p * channels + c]];
    }
  }
}

}  // namespace qtool
