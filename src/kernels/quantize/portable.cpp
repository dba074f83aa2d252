#include <cmath>
#include <cstdint>

#include "kernels/quantize/contract.h"

namespace qtool {
namespace {

// NaN is handled first, because std::fmax() would turn it into the lower limit.
std::uint8_t quantize_one(const QuantizeParams& affine, float x) {
  const float scaled = x / affine.scale;
  if (std::isnan(scaled)) return static_cast<std::uint8_t>(affine.zero_point);
  const auto lowest = static_cast<float>(affine.low - affine.zero_point);
  const auto highest = static_cast<float>(affine.high - affine.zero_point);
  const float clamped = std::fmin(std::fmax(scaled, lowest), highest);
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(clamped)) +
                                   affine.zero_point);
}

void quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = quantize_one(affine, in[i]);
}

struct Table {
  float real[256];
};

Table table_of(const QuantizeParams& affine) {
  Table table;
  for (std::int32_t q = 0; q < 256; ++q) {
    table.real[q] = affine.scale * static_cast<float>(q - affine.zero_point);
  }
  return table;
}

void dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                std::int64_t count) {
  const Table table = table_of(affine);
  for (std::int64_t i = 0; i < count; ++i) out[i] = table.real[in[i]];
}

void quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry, const float* in,
                     std::uint8_t* out) {
  for (std::int64_t c = 0; c < geometry.channels; ++c) {
    const float* plane = in + c * geometry.plane_stride;
    for (std::int64_t p = 0; p < geometry.pixels; ++p) {
      out[p * geometry.pixel_stride + c] = quantize_one(affine, plane[p]);
    }
  }
}

void dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                       const std::uint8_t* in, float* out) {
  const Table table = table_of(affine);
  for (std::int64_t c = 0; c < geometry.channels; ++c) {
    float* plane = out + c * geometry.plane_stride;
    for (std::int64_t p = 0; p < geometry.pixels; ++p) {
      plane[p] = table.real[in[p * geometry.pixel_stride + c]];
    }
  }
}

void quantize_wide(const QuantizeParams& affine, const QuantizeParams& rest_affine, const float* in,
                   std::uint8_t* high, std::uint8_t* low, std::int64_t count) {
  const Table table = table_of(affine);
  for (std::int64_t i = 0; i < count; ++i) {
    high[i] = quantize_one(affine, in[i]);
    low[i] = quantize_one(rest_affine, in[i] - table.real[high[i]]);
  }
}

}  // namespace

constexpr QuantizeFunctions quantize_portable = {quantize, dequantize, quantize_planes,
                                                 dequantize_planes, quantize_wide};

}  // namespace qtool
