#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/curve.h"
#include "kernels/isa.h"

namespace qtool {

/// The extents of one convolution: channels-last images, extents and strides in pixels.
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t in_h = 1;
  std::int64_t in_w = 1;
  std::int64_t out_h = 1;
  std::int64_t out_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;
  /// Elements between neighbouring pixels; 0 stands for the number of channels. A larger stride
  /// reads from or writes into a slice of the channels of a wider tensor.
  std::int64_t in_pixel_stride = 0;
  std::int64_t out_pixel_stride = 0;
  /// The byte that pads the image when the input zero point is known only at run time; otherwise
  /// the weights' input_zero_point is used. The size of the workspace depends on whether it is set,
  /// not on its value.
  std::optional<std::uint8_t> padding{};
};

/// The weights of a convolution, read while packing and not kept.
struct ConvWeights {
  std::span<const std::int8_t>
      values;  ///< [out_channels][in_channels / groups][kernel_h][kernel_w]
  std::int64_t out_channels = 1;
  std::int64_t in_channels = 1;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t groups = 1;
  std::span<const std::int32_t> bias;  ///< [out_channels] or empty, at the scale s_x s_w
  std::int32_t input_zero_point = 0;   ///< 0 to 255; padding has this value
  /// [out_channels] or empty, -128 to 127. Zero points other than 0 cost up to twice the time.
  std::span<const std::int32_t> weight_zero_points;
};

/// Another u8 tensor of the result's shape, whose real values are added before the result is
/// rounded: the shortcut of a residual block.
struct Residual {
  float multiplier = 1.0F;  ///< its scale / s_y, 0 to kMaxResidualMultiplier
  std::int32_t zero_point = 0;
};

/// The largest multiplier of a residual. With a larger one a product could be infinite, and the sum
/// of two products could be NaN.
inline constexpr float kMaxResidualMultiplier = 1e30F;

/// Converts an int32 sum to u8: q = clamp(rint(float(acc) * multiplier[c]) + zero_point, low,
/// high), ties to even. If there are multipliers `negative`, they take the place of `multiplier`
/// for sums below 0, as a LeakyRelu or a PRelu needs it. 0 <= low <= high <= 255. With a residual
/// r, the rounded value is float(acc) * multiplier[c] + float(r - residual.zero_point) *
/// residual.multiplier: two products, each rounded to float, and one sum, rounded to float. With a
/// curve, q is the byte of the curve for acc, multiplier[c] and factors[c]. The zero point and the
/// limits do not count then, and there is no residual.
struct Epilogue {
  std::vector<float> multiplier;  ///< [out_channels], s_x s_w[c] / s_y, or s_x s_w[c] curve.scale
  std::int32_t zero_point = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
  std::optional<Residual> residual{};
  std::vector<float> negative{};  ///< [out_channels], or empty; without a curve only
  std::optional<Curve> curve{};
  std::vector<CurveFactor> factors{};  ///< [out_channels], or empty: all are 1; with a curve only
};

/// [batch][out_h][out_w][out_channels] elements that are added to the results.
struct ConvAdded {
  const std::uint8_t* residual = nullptr;  ///< where the epilogue asks for one, else null
  const float* base = nullptr;  ///< f32 output without a float bias: y = float(acc) * scale[c] + b
};

class ConvDriver;

/// A convolution of u8 images with s8 weights, ready to run: dense, grouped or depthwise. A matrix
/// product is a 1x1 convolution in which every row of the left matrix is a pixel.
/// acc = sum (qx - zx)(qw - zw) + qb, exactly, for every instruction set and number of threads.
/// Immutable; threads may share it, each run with its own workspace.
class PackedConv {
 public:
  /// u8 output. Throws Error(kInvalidModel) when extents, spans and parameters do not fit together,
  /// and Error(kUnsupported) when a sum could exceed int32: K 255 max|qw - zw| + max|qb| >= 2^31.
  PackedConv(const ConvWeights& weights, Epilogue epilogue, const KernelSelection& selection = {});
  /// f32 output: y = float(acc) * scale[c] (+ float_bias[c], after rounding the product).
  PackedConv(const ConvWeights& weights, std::vector<float> dequantize_scale,
             std::vector<float> float_bias = {}, const KernelSelection& selection = {});
  /// i32 output: acc itself. When the input zero point is known only at run time, pack with 0, run
  /// with ConvShape::padding, and subtract zx sum (qw - zw) from each channel.
  static PackedConv of_sums(const ConvWeights& weights, const KernelSelection& selection = {});
  PackedConv(PackedConv&&) noexcept;
  PackedConv& operator=(PackedConv&&) noexcept;
  ~PackedConv();

  /// The name of the micro-kernel.
  [[nodiscard]] std::string_view kernel() const;
  /// The size of the workspace that run() needs for `shape`, whatever the input.
  [[nodiscard]] std::int64_t workspace_bytes(const ConvShape& shape, int threads) const;
  /// Computes all output pixels. `input`: [batch][in_h][in_w][in_pixel_stride] u8; `output`:
  /// [batch][out_h][out_w][out_pixel_stride] u8, float or int32; `workspace`:
  /// workspace_bytes(shape, threads) bytes of any alignment; `added`: the values to add to the
  /// results, see ConvAdded. Throws Error(kInvalidArgument) when the shape is impossible, when a
  /// residual is missing or not expected, or when there is a base but the output is not float
  /// without a bias.
  void run(const ConvShape& shape, const std::uint8_t* input, void* output, std::byte* workspace,
           int threads, const ConvAdded& added = {}) const;

 private:
  PackedConv(std::unique_ptr<const ConvDriver> driver, const ConvWeights& weights);
  [[nodiscard]] ConvShape checked(ConvShape shape) const;

  std::unique_ptr<const ConvDriver> driver_;
  std::int64_t in_channels_;
  std::int64_t out_channels_;
  bool adds_ = false;        // adds a residual
  bool takes_base_ = false;  // is float output without a bias
};

}  // namespace qtool
