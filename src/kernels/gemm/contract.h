#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/curve.h"
#include "kernels/output_type.h"

namespace qtool {

/// How a kernel wants its operands. Weights are packed panel by panel.
struct GemmLayout {
  std::int64_t panel = 16;      ///< output channels of a panel
  std::int64_t group = 4;       ///< bytes of a row whose products are summed in one step
  std::int64_t max_panels = 4;  ///< largest number of panels in one call
  std::int64_t rows = 1;        ///< rows that are computed together
  /// The kernel subtracts this from every byte of a row before it multiplies. 128 suits kernels
  /// whose instructions multiply signed bytes. Whoever packs the weights adds input_offset times
  /// their sum to the bias.
  std::int32_t input_offset = 0;
  /// 0, or the limit of a kernel that adds the products of two neighbouring bytes in 16 bits. Of
  /// the weights of a pair (bytes 2 i and 2 i + 1 of a group), the positive ones sum to at most
  /// this and the negative ones to at least minus this: 128, because 255 * 128 < 2^15. Whoever
  /// packs the weights orders the bytes of a group such that other weights are pairs. If no order
  /// helps, the group becomes a wide step; see TapSteps. `group` is 4 and `max_panels` is 1 then.
  std::int32_t pair_limit = 0;
};

/// The orders of a group's four bytes that give all ways to make two pairs of them.
inline constexpr int kByteOrders = 3;
inline constexpr std::int8_t kByteOrder[kByteOrders][4] = {
    {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};

/// The steps of one tap for a kernel with a pair_limit: narrow ones of each order, then wide ones.
/// A narrow step multiplies the bytes of a group, in its order, by weights of 8 bits within the
/// limit. A wide step multiplies them by weights of 16 bits. The sums of all steps are the layer's.
struct TapSteps {
  std::int32_t narrow_end[kByteOrders] = {};  ///< one past the last narrow step of each order
  std::int32_t wide_end = 0;                  ///< one past the last wide step
};

/// How a kernel computes the address of an input row.
enum class RowSource : std::uint8_t {
  kPointers,  ///< rows[tap * row_pitch + row] + row_offset
  kStrided,   ///< base + row * row_stride, one tap
};

/// A product of u8 rows with the s8 weights of up to `max_panels` panels, and its epilogue. The
/// lengths in brackets, and `panel` and `group`, are those of the kernel's GemmLayout.
///
/// acc[m][c] = bias[c] + sum over tap, k of (row(tap, m)[k] - input_offset) * weight(tap, k, c),
/// in int32, where sums may wrap around on the way;
/// u8: out[m][c] = clamp(rint(float(acc) * multiplier[c]) + zero_point, low, high), ties to even;
/// if `negative` is set, negative[c] takes the place of multiplier[c] where acc < 0; u8 with a
/// residual r: as u8, but the value in rint() is float(acc) * multiplier[c] + float(r[m][c] -
/// residual_zero) * residual_multiplier, and both products are rounded to float before they are
/// added; u8 with a curve: out[m][c] = the byte of the curve for acc, multiplier[c] and factors[c];
/// f32: out[m][c] = float(acc) * multiplier[c] + addend[c], the product is rounded first; if `onto`
/// is set, onto[m][c] takes the place of addend[c];
/// i32: out[m][c] = acc[m][c].
///
/// A kernel reads exactly `row_bytes` bytes of each row: the bytes of group g begin at
/// min(group g, row_bytes - group), so the last group may repeat bytes of the one before, and the
/// packed weights are zero there. Weights: [tap][group][panel][channel of the panel][byte of the
/// group]. A kernel with a pair_limit reads the groups that `starts` names instead. The weights of
/// a narrow step: [channel of the panel][byte of the group, in the step's order]; of a wide one, in
/// 16 bits: [channel of the panel][bytes 0, 2], then [channel of the panel][bytes 1, 3].
struct GemmCall {
  RowSource source = RowSource::kPointers;
  const std::uint8_t* const* rows = nullptr;
  std::int64_t row_pitch = 0;
  std::int64_t row_offset = 0;
  const std::uint8_t* base = nullptr;
  std::int64_t row_stride = 0;

  std::int64_t row_count = 0;
  std::int64_t taps = 1;
  std::int64_t row_bytes = 4;  ///< bytes that one tap reads of a row, at least a group

  const std::int8_t* weights = nullptr;
  const std::int32_t* starts = nullptr;  ///< [step] first byte of its group; only for a pair_limit
  const TapSteps* steps = nullptr;       ///< [tap]; only for a pair_limit
  std::int64_t panels = 1;               ///< 1 to max_panels
  std::int64_t channels = 1;             ///< more than fit panels - 1, at most what fits `panels`
  const std::int32_t* bias = nullptr;    ///< [panels][panel]
  const float* multiplier = nullptr;     ///< [panels][panel]
  const float* negative = nullptr;       ///< null, or [panels][panel]; u8 without a curve only
  const float* addend = nullptr;         ///< [panels][panel], float output only

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

  const Curve* curve = nullptr;          ///< null: see above; u8 output without a residual only
  const CurveFactor* factors = nullptr;  ///< [panels][panel], with a curve only

  const float* onto = nullptr;   ///< null: `addend` is added; float output only
  std::int64_t onto_stride = 0;  ///< elements between rows

  std::byte* scratch = nullptr;  ///< aligned to 64 bytes; as many as scratch_bytes() says
};

/// The largest extents of the calls that use the same scratch memory.
struct GemmSize {
  std::int64_t row_count = 0;
  std::int64_t taps = 1;
  std::int64_t row_bytes = 4;
};

struct GemmFunctions {
  void (*run)(const GemmCall& call);
  GemmLayout layout{};
  /// Bytes of scratch memory that a call of this size needs; null: none.
  std::int64_t (*scratch_bytes)(const GemmSize& size) = nullptr;
};

#define QTOOL_KERNEL(name) extern const GemmFunctions gemm_##name;
#include "kernels/gemm/gemm.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
