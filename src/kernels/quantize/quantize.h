#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/quantize/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<QuantizeFunctions>> quantize_kernels() noexcept;

/// Converts floats to bytes and back, in the same order or between planes and channels-last.
class QuantizeKernel {
 public:
  explicit QuantizeKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(quantize_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// Equals quantize_value() of every element.
  void quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
                std::int64_t count) const {
    row_->functions->quantize(affine, in, out, count);
  }
  /// Equals dequantize_value() of every element.
  void dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                  std::int64_t count) const {
    row_->functions->dequantize(affine, in, out, count);
  }
  /// Converts planes of floats (one image of ONNX's N, C, H, W) to channels-last bytes.
  void quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry, const float* in,
                       std::uint8_t* out) const {
    row_->functions->quantize_planes(affine, geometry, in, out);
  }
  /// Converts channels-last bytes to planes of floats.
  void dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                         const std::uint8_t* in, float* out) const {
    row_->functions->dequantize_planes(affine, geometry, in, out);
  }
  /// Computes both bytes of a tensor that keeps 16 bits; see QuantizeFunctions::quantize_wide.
  void quantize_wide(const QuantizeParams& affine, const QuantizeParams& rest_affine,
                     const float* in, std::uint8_t* high, std::uint8_t* low,
                     std::int64_t count) const {
    row_->functions->quantize_wide(affine, rest_affine, in, high, low, count);
  }

 private:
  const KernelRow<QuantizeFunctions>* row_;
};

/// The specification, built on quantize_value() and dequantize_value(): naive code that is never
/// selected as a kernel.
void reference_quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
                        std::int64_t count);
void reference_dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                          std::int64_t count);
void reference_quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                               const float* in, std::uint8_t* out);
void reference_dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                                 const std::uint8_t* in, float* out);
void reference_quantize_wide(const QuantizeParams& affine, const QuantizeParams& rest_affine,
                             const float* in, std::uint8_t* high, std::uint8_t* low,
                             std::int64_t count);

}  // namespace qtool
