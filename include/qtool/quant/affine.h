#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The affine map between integers and reals: real = scale * (q - zero_point).
/// Source: Jacob et al., arXiv 1712.05877, equation 1; ONNX DequantizeLinear.
struct Affine {
  float scale = 1.0F;
  std::int32_t zero_point = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// A closed real interval that contains 0.
struct Range {
  float min = 0.0F;
  float max = 0.0F;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Counts of values in bins of equal width. The bins follow the integers that the values are
/// rounded to, and continue beyond the limits of these integers. Bin i holds the values from
/// `first` + i * `width` to the next bin. The two outermost bins also hold all values further out.
struct LevelHistogram {
  double first = 0.0;
  double width = 0.0;  ///< one step of 8-bit integers, 256 steps of 16-bit integers
  std::vector<std::int64_t> counts;
};

/// Inclusive integer limits of a type.
struct Limits {
  std::int32_t min;
  std::int32_t max;
};

/// The limits of activations in kernels: the full range of a byte.
inline constexpr Limits kU8Limits{0, 255};

enum class Symmetry : std::uint8_t {
  kSymmetric,   ///< zero point 0, limits +-(2^(bits-1) - 1)
  kAsymmetric,  ///< a zero point anywhere in the type
};

/// The kind of integers that reals are quantized to.
struct Scheme {
  DType dtype = DType::kUInt8;  ///< kUInt8 or kInt8
  int bits = 8;                 ///< 2 to 8
  Symmetry symmetry = Symmetry::kAsymmetric;
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

/// The integers a scheme uses: asymmetric u8 [0, 2^b - 1]; asymmetric s8 [-2^(b-1), 2^(b-1) - 1];
/// symmetric s8 [-(2^(b-1) - 1), 2^(b-1) - 1] and symmetric u8 [1, 2^b - 1], without the lowest
/// integer. Throws Error(kInvalidArgument) for any other type or width.
Limits limits_of(const Scheme& scheme);

/// The quantization step of a range that contains 0: (max - min) / (qmax - qmin) under an
/// asymmetric scheme, 2 max(|min|, |max|) / (qmax - qmin) under a symmetric one. It is a double and
/// so needs no special case for subnormal scales; choose_affine() rounds it to float.
double exact_step(const Range& range, const Scheme& scheme);

/// The affine map of `range` (widened to contain 0) under `scheme`.
/// Asymmetric: s = (max - min) / (qmax - qmin), rounded to float once; z0 = qmin - min / s computed
/// in double from that float s, clamped to the limits, rounded half away from zero.
/// Symmetric: s = max(|min|, |max|) / (qmax - z), with z = 0 for s8 and z = 2^(bits-1) for u8.
/// A range whose scale would be zero, subnormal or not finite gets scale 1. Its zero point is the
/// integer nearest to 0 that the scheme allows, or 2^(bits-1) for a symmetric u8. Known answer:
/// [-3, 7] in s8 gives s = 0.0392157, z = -52 (u8: 76).
/// Source: gemmlowp doc/quantization.md, "nudged" zero point. Differs from source: z is computed
/// from min only, and with the float scale, so that every compiler gives the same result.
Affine choose_affine(Range range, const Scheme& scheme);

/// q = clamp(round_half_even(x / s) + z, limits); NaN gives z. Source: ONNX QuantizeLinear.
std::int32_t quantize_value(float x, const Affine& affine, const Limits& limits) noexcept;
/// x = s * (q - z). Source: ONNX DequantizeLinear.
float dequantize_value(std::int32_t q, const Affine& affine) noexcept;

/// The range of reals that the integers within `limits` represent under `affine`.
Range represented_range(const Affine& affine, const Limits& limits) noexcept;

/// The affine maps of one tensor: a single map for the whole tensor, or one map for each index of
/// `axis`.
struct Affines {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points{};  ///< one per scale; empty: all are 0
  std::int64_t axis = -1;                   ///< -1: one scale for the whole tensor

  [[nodiscard]] bool per_tensor() const noexcept { return scales.size() == 1; }
  /// The affine map of slice `index` along the axis, or the single map of the whole tensor.
  [[nodiscard]] Affine at(std::size_t index) const noexcept {
    const std::size_t slice = per_tensor() ? 0 : index;
    return {scales[slice], zero_points.empty() ? 0 : zero_points[slice]};
  }
  friend bool operator==(const Affines&, const Affines&) = default;
};

/// One scale and zero point per output channel of a weight, or one for the whole tensor.
enum class Granularity : std::uint8_t { kPerTensor, kPerChannel };

/// Which weights may stand beside each other, see Target::adds_pairs_in_16_bits.
enum class WeightPairs : std::uint8_t {
  kFree,     ///< any
  kLimited,  ///< only those whose products cannot saturate when two are added in 16 bits
};

/// Types and weight method chosen by the user. A choice that is not set follows the target.
struct TypeChoices {
  std::optional<std::string> weight_method;
  std::optional<int> weight_bits;
  std::optional<Granularity> weight_granularity;
  std::optional<Symmetry> weight_symmetry;
  std::optional<int> winograd_bits;  ///< for 3x3 convolutions, see Target::winograd_bits
  std::optional<WeightPairs> weight_pairs;
  std::optional<DType> activation_dtype;
  std::optional<Symmetry> activation_symmetry;
  std::optional<int> activation_bits;

  [[nodiscard]] bool empty() const { return *this == TypeChoices(); }
  friend bool operator==(const TypeChoices&, const TypeChoices&) = default;
};

/// The paths from an int32 sum to an 8-bit integer. Their results differ in the last unit for a
/// small share of all sums, so the whole network uses the same path.
enum class Requantization : std::uint8_t {
  kFloat,     ///< rint(float(acc) * float(M)), ties to even: TensorRT, ONNX Runtime, FBGEMM
  kGemmlowp,  ///< integers only, rounded twice: TensorFlow Lite, gemmlowp
  kSingle,    ///< integers only, rounded once: ruy, TensorFlow Lite with TFLITE_SINGLE_ROUNDING
};

/// The name of a path: `float`, `gemmlowp` or `single`.
std::string_view name_of(Requantization path) noexcept;
/// The path called `name`; nullopt when the name is unknown.
std::optional<Requantization> find_requantization(std::string_view name) noexcept;

}  // namespace qtool
