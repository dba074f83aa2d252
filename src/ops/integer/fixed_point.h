#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/pool/pool.h"
#include "qtool/quant/affine.h"
#include "quant/requantize.h"

namespace qtool {

/// The operators of a plan whose sums become bytes with an integer multiplier and shift, as
/// TensorFlow Lite computes them. Plain loops: the fast kernels requantize in float.

/// Requantizes sums [pixels][channels] to u8, with one multiplier per channel. With a residual, the
/// sum and the residual are rescaled to s_y / 2^20 and added, and the total is rescaled to s_y.
/// Terms and totals saturate in int32, that is beyond 2,048 s_y.
class FixedOutput {
 public:
  /// One multiplier s_x s_w[c] / s_y per channel, in double.
  /// Source: TensorFlow Lite, kernels/kernel_util.cc, PopulateConvolutionQuantizationParams.
  /// Differs from source: TensorFlow Lite adds no residual there; its Add has the same form.
  FixedOutput(Requantization path, std::span<const double> multipliers, const Affine& y,
              Limits limits, const std::optional<Affine>& residual = std::nullopt);
  /// `residual`: [pixels][channels], null where there is none.
  void run(std::int64_t pixels, const std::int32_t* sums, const std::uint8_t* residual,
           std::uint8_t* out, int threads) const;

 private:
  struct Sum {
    std::array<std::int32_t, 256> residual;  // contribution of each of its values
    Requantizer output;
  };

  std::vector<Requantizer> channels_;
  std::optional<Sum> sum_;
  std::int32_t zero_point_;
  Limits limits_;
};

/// a + b: both operands are shifted left by 20 bits, rescaled to twice the larger scale, and added
/// in int32. The sum is rescaled to s_y. Source: TensorFlow Lite, kernels/add.cc and
/// kernels/internal/reference/add.h.
class FixedAdd {
 public:
  FixedAdd(Requantization path, const Affine& a, const Affine& b, const Affine& y, Limits limits);
  void run(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
           std::int64_t count) const;

 protected:
  // The contribution of each of the 256 values of an operand.
  std::array<std::int32_t, 256> a_;
  std::array<std::int32_t, 256> b_;
  Requantizer output_;
  std::int32_t zero_point_;
  Limits limits_;
};

/// a - b, as a + b with the contributions of b negated. Source: TensorFlow Lite, kernels/sub.cc.
class FixedSub : public FixedAdd {
 public:
  FixedSub(Requantization path, const Affine& a, const Affine& b, const Affine& y, Limits limits);
};

/// a * b: the product of the integers, with one multiplier. Source: TensorFlow Lite, kernels/mul.cc
/// and kernels/internal/reference/integer_ops/mul.h.
class FixedMul {
 public:
  FixedMul(Requantization path, const Affine& a, const Affine& b, const Affine& y, Limits limits);
  void run(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
           std::int64_t count) const;

 private:
  std::int32_t za_;
  std::int32_t zb_;
  Requantizer output_;
  std::int32_t zero_point_;
  Limits limits_;
};

/// The mean of each window: sum (q - z_x), times s_x / s_y, divided by the number of elements.
/// Halves are rounded away from 0. Source: TensorFlow Lite,
/// kernels/internal/reference/integer_ops/mean.h. Differs from source: it also computes windows,
/// for which TensorFlow Lite demands equal scales. With equal scales both agree, except for the
/// direction in which ties next to the zero point are rounded.
class FixedAverage {
 public:
  /// Throws Error(kUnsupported) for a window of more than 2^23 pixels.
  FixedAverage(Requantization path, const PoolShape& shape, const Affine& x, const Affine& y,
               Limits limits, CountPadding padding);
  void run(const std::uint8_t* in, std::uint8_t* out, int threads) const;

 private:
  [[nodiscard]] std::int64_t inside(std::int64_t start, std::int64_t kernel, std::int64_t dilation,
                                    std::int64_t extent) const;
  void run_pixel(const std::uint8_t* image, std::int64_t y, std::int64_t x,
                 std::uint8_t* out) const;

  PoolShape shape_;
  std::int32_t zx_;
  Requantizer output_;
  std::int32_t zero_point_;
  Limits limits_;
  CountPadding padding_;
};

/// A table that converts each of the 256 bytes from the affine map `from` to `to`. The float path
/// converts through a float, the other paths multiply (q - z) by s_from / s_to. Source: TensorFlow
/// Lite, kernels/internal/reference/requantize.h.
std::array<std::uint8_t, 256> rescale_table(Requantization path, const Affine& from,
                                            const Affine& to, Limits limits);

/// The name of the kernel in a step that requantizes on `path`, for example `avx2+gemmlowp`.
std::string kernel_label(std::string_view kernel, Requantization path);

}  // namespace qtool
