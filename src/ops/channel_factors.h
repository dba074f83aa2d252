#pragma once

#include <cstdint>

namespace qtool {

/// Multiplies channels-last pixels by one factor per channel: out[p][c] = in[p][c] * factors[c].
/// `out` may be `in`.
inline void multiply_channels(const float* in, const float* factors, std::int64_t pixels,
                              std::int64_t channels, float* out) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::int64_t c = 0; c < channels; ++c) {
      out[p * channels + c] = in[p * channels + c] * factors[c];
    }
  }
}

}  // namespace qtool
