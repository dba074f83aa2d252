#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/pool/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<PoolFunctions>> pool_kernels() noexcept;

/// The extents of one pooling: channels-last images, extents and strides in pixels.
struct PoolShape {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t in_h = 1;
  std::int64_t in_w = 1;
  std::int64_t out_h = 1;
  std::int64_t out_w = 1;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;
  std::int64_t pad_bottom = 0;
  std::int64_t pad_right = 0;
  /// Elements between neighbouring pixels; 0 stands for the number of channels.
  std::int64_t in_pixel_stride = 0;
  std::int64_t out_pixel_stride = 0;
};

/// Whether padding counts in a mean. Included padding counts as real zeros, up to pad_bottom and
/// pad_right.
enum class CountPadding : std::uint8_t { kExclude, kInclude };

/// The parameters of a mean: q = clamp(rint(float(sum - n zx) * (m / float(count))) + zy, low,
/// high), ties to even. `sum` is the sum of the n window pixels inside the image. `count` is n, or
/// the number of window pixels inside the padded image. The mean of no pixels is a real zero.
struct AverageParams {
  float m = 1.0F;  ///< s_x / s_y
  std::int32_t zx = 0;
  std::int32_t zy = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
  CountPadding count_padding = CountPadding::kExclude;
};

/// Pools u8 images with the fastest kernel that the selection allows.
class PoolKernel {
 public:
  explicit PoolKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(pool_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// The maximum of the window pixels inside the image; 0 when there is none. Throws
  /// Error(kInvalidArgument) when the shape is impossible.
  void max(const PoolShape& shape, const std::uint8_t* in, std::uint8_t* out, int threads) const;
  /// The mean, requantized. Throws Error(kInvalidArgument) when the shape is impossible, and
  /// Error(kUnsupported) when a window has more than 2^23 pixels.
  void average(const PoolShape& shape, const AverageParams& params, const std::uint8_t* in,
               std::uint8_t* out, int threads) const;

 private:
  const KernelRow<PoolFunctions>* row_;
};

/// The specifications: naive code that is never selected as a kernel.
void reference_max_pool(const PoolShape& shape, const std::uint8_t* in, std::uint8_t* out);
void reference_average_pool(const PoolShape& shape, const AverageParams& params,
                            const std::uint8_t* in, std::uint8_t* out);

}  // namespace qtool
