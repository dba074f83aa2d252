#pragma once

#include <cstdint>

namespace qtool {

/// An affine map and the limits of its integers. To quantize:
/// q = clamp(rint(x / scale) + zero_point, low, high), ties to even, by a division (not by
/// multiplying with 1 / scale); NaN gives the zero point. To dequantize: x = scale * float(q -
/// zero_point). Source: ONNX QuantizeLinear.
struct QuantizeParams {
  float scale = 1.0F;
  std::int32_t zero_point = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

/// The places of the pixels of one image in both orders. Element (c, p) is at c * plane_stride + p
/// in the order with one plane per channel, and at p * pixel_stride + c in the channels-last order.
struct PlaneGeometry {
  std::int64_t channels = 1;
  std::int64_t pixels = 0;
  std::int64_t plane_stride = 0;
  std::int64_t pixel_stride = 1;
};

struct QuantizeFunctions {
  void (*quantize)(const QuantizeParams& affine, const float* in, std::uint8_t* out,
                   std::int64_t count);
  void (*dequantize)(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                     std::int64_t count);
  /// Converts planes of floats to channels-last bytes.
  void (*quantize_planes)(const QuantizeParams& affine, const PlaneGeometry& geometry,
                          const float* in, std::uint8_t* out);
  /// Converts channels-last bytes to planes of floats.
  void (*dequantize_planes)(const QuantizeParams& affine, const PlaneGeometry& geometry,
                            const std::uint8_t* in, float* out);
  /// Computes both bytes of a tensor that keeps 16 bits. `high` is x quantized by `affine`. `low`
  /// is the remainder quantized by `rest_affine`; the remainder is x minus the real value of
  /// `high`, rounded to float.
  void (*quantize_wide)(const QuantizeParams& affine, const QuantizeParams& rest_affine,
                        const float* in, std::uint8_t* high, std::uint8_t* low, std::int64_t count);
};

#define QTOOL_KERNEL(name) extern const QuantizeFunctions quantize_##name;
#include "kernels/quantize/quantize.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
