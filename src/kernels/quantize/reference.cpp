#include "kernels/quantize/quantize.h"
#include "qtool/quant/affine.h"

namespace qtool {
namespace {

std::uint8_t quantize_by_definition(const QuantizeParams& affine, float x) {
  return static_cast<std::uint8_t>(
      quantize_value(x, {affine.scale, affine.zero_point}, {affine.low, affine.high}));
}

float dequantize_one(const QuantizeParams& affine, std::uint8_t q) {
  return dequantize_value(q, {affine.scale, affine.zero_point});
}

}  // namespace

void reference_quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
                        std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = quantize_by_definition(affine, in[i]);
}

void reference_dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                          std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = dequantize_one(affine, in[i]);
}

void reference_quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                               const float* in, std::uint8_t* out) {
  for (std::int64_t c = 0; c < geometry.channels; ++c) {
    for (std::int64_t p = 0; p < geometry.pixels; ++p) {
      out[p * geometry.pixel_stride + c] =
          quantize_by_definition(affine, in[c * geometry.plane_stride + p]);
    }
  }
}

void reference_dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                                 const std::uint8_t* in, float* out) {
  for (std::int64_t c = 0; c < geometry.channels; ++c) {
    for (std::int64_t p = 0; p < geometry.pixels; ++p) {
      out[c * geometry.plane_stride + p] =
          dequantize_one(affine, in[p * geometry.pixel_stride + c]);
    }
  }
}

void reference_quantize_wide(const QuantizeParams& affine, const QuantizeParams& rest_affine,
                             const float* in, std::uint8_t* high, std::uint8_t* low,
                             std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    high[i] = quantize_by_definition(affine, in[i]);
    low[i] = quantize_by_definition(rest_affine, in[i] - dequantize_one(affine, high[i]));
  }
}

}  // namespace qtool
