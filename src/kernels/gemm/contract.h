#pragma once

#include <cstdint>

#include "kernels/output_type.h"

namespace qtool {

/// The number of output channels in a panel. Weights are packed panel by panel.
inline constexpr std::int64_t kGemmPanel = 16;
/// The number of consecutive bytes of a row whose products with the weights are summed in one step.
inline constexpr std::int64_t kGemmGroup = 4;
/// The largest number of panels in one call.
inline constexpr std::int64_t kGemmMaxPanels = 4;

/// How a kernel computes the address of an input row.
enum class RowSource : std::uint8_t {
  kPointers,  ///< rows[tap * row_pitch + row] + row_offset
  kStrided,   ///< base + row * row_stride, one tap
};

/// A product of u8 rows with the s8 weights of up to 64 output channels, and its epilogue.
///
/// acc[m][c] = bias[c] + sum over tap, k of row(tap, m)[k] * weight(tap, k, c), in int32;
/// u8: out[m][c] = clamp(rint(float(acc) * multiplier[c]) + zero_point, low, high), ties to even;
/// u8 with a residual r: as u8, but the value in rint() is float(acc) * multiplier[c] +
/// float(r[m][c] - residual_zero) * residual_multiplier, and both products are rounded to float
/// before they are added;
/// f32: out[m][c] = float(acc) * multiplier[c] + addend[c], the product is rounded first; if `onto`
/// is set, onto[m][c] takes the place of addend[c];
/// i32: out[m][c] = acc[m][c].
///
/// A kernel reads exactly `row_bytes` bytes of each row: the bytes of group g begin at
/// min(4 g, row_bytes - 4), so the last group may repeat bytes of the one before, and the packed
/// weights are zero there. Weights: [tap][group][panel][channel of the panel][byte of the group].
struct GemmCall {
  RowSource source = RowSource::kPointers;
  const std::uint8_t* const* rows = nullptr;
  std::int64_t row_pitch = 0;
  std::int64_t row_offset = 0;
  const std::uint8_t* base = nullptr;
  std::int64_t row_stride = 0;

  std::int64_t row_count = 0;
  std::int64_t taps = 1;
  std::int64_t row_bytes = kGemmGroup;  ///< bytes that one tap reads of a row, at least 4

  const std::int8_t* weights = nullptr;
  std::int64_t panels = 1;             ///< 1 to 4
  std::int64_t channels = 1;           ///< more than 16 (panels - 1), at most 16 panels
  const std::int32_t* bias = nullptr;  ///< [16 panels]
  const float* multiplier = nullptr;   ///< [16 panels]
  const float* addend = nullptr;       ///< [16 panels], float output only

  OutputType output_type = OutputType::kUInt8;
  void* output = nullptr;
  std::int64_t output_stride = 0;  ///< elements between rows
  std::int32_t zero_point = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;

  const std::uint8_t* residual = nullptr;  ///< null: nothing is added; u8 output only
  std::int64_t residual_stride = 0;        ///< elements between rows
  float residual_multiplier = 0.0F;
  std::int32_t residual_zero = 0;

  const float* onto = nullptr;   ///< null: `addend` is added; float output only
  std::int64_t onto_stride = 0;  ///< elements between rows
};

struct GemmFunctions {
  void (*run)(const GemmCall& call);
};

#define QTOOL_KERNEL(name, isa) extern const GemmFunctions gemm_##name;
#include "kernels/gemm/gemm.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
