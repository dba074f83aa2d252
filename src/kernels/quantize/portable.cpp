#include <cmath>
#include <cstdint>

#include "kernels/quantize/contract.h"

namespace qtool {
namespace {

// A clamp of NaN is not NaN, so that is decided first.
std::uint8_t quantize_one(const QuantizeParams& params, float x) {
  const float scaled = x / params.scale;
  if (std::isnan(scaled)) return static_cast<std::uint8_t>(params.zero_point);
  const auto lowest = static_cast<float>(params.low - params.zero_point);
  const auto highest = static_cast<float>(params.high - params.zero_point);
  const float clamped = std::fmin(std::fmax(scaled, lowest), highest);
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(clamped)) +
                                   params.zero_point);
}

void quantize(const QuantizeParams& params, const float* in, std::uint8_t* out,
              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = quantize_one(params, in[i]);
}

struct Table {
  float real[256];
};

Table table_of(const QuantizeParams& params) {
  Table table;
  for (std::int32_t q = 0; q < 256; ++q) {
    table.real[q] = params.scale * static_cast<float>(q - params.zero_point);
  }
  return table;
}

void dequantize(const QuantizeParams& params, const std::uint8_t* in, float* out,
                std::int64_t count) {
  const Table table = table_of(params);
  for (std::int64_t i = 0; i < count; ++i) out[i] = table.real[in[i]];
}

void quantize_planes(const QuantizeParams& params, const PlaneGeometry& geometry, const float* in,
                     std::uint8_t* out) {
  for (std::int64_t c = 0; c < geometry.channels; ++c) {
    const float* plane = in + c * geometry.plane_stride;
    for (std::int64_t p = 0; p < geometry.pixels; ++p) {
      out[p * geometry.pixel_stride + c] = quantize_one(params, plane[p]);
    }
  }
}

void dequantize_planes(const QuantizeParams& params, const PlaneGeometry& geometry,
                       const std::uint8_t* in, float* out) {
  const Table table = table_of(params);
  for (std::int64_t c = 0; c < geometry.channels; ++c) {
    float* plane = out + c * geometry.plane_stride;
    for (std::int64_t p = 0; p < geometry.pixels; ++p) {
      plane[p] = table.real[in[p * geometry.pixel_stride + c]];
    }
  }
}

}  // namespace

constexpr QuantizeFunctions quantize_portable = {quantize, dequantize, quantize_planes,
                                                 dequantize_planes};

}  // namespace qtool
