#include <cstdint>

#include "kernels/epilogue_avx512.h"
#include "kernels/gemm/contract.h"

namespace qtool {
namespace {

constexpr GemmLayout kLayout{.rows = 24};  // the tiles below divide 24 rows

// The rows of a tile, for 1 to 4 panels. Each row and panel takes one accumulator. The accumulators
// must fit into the 32 registers beside the weights, and at least ten are needed to cover the
// latency of vpdpbusd.
constexpr unsigned kRows[] = {0, 12, 12, 8, 6};

// The epilogue's parameters for the output channels.
struct Columns {
  __m512 multiplier[kLayout.max_panels];
  __m512 negative[kLayout.max_panels];  // for sums below 0
  ByteRange range;
  __mmask64 mask;
  Products products;           // whether a product, or a number for the curve, can exceed int32
  CurveRegisters curve;        // only for bytes of a curve
  FactorRegisters factors[2];  // likewise: of the panels 0 and 1, of 2 and 3
};

// What a tile stores: bytes of a curve, whose numbers fit int32 or may not; bytes with multipliers
// for sums below 0; floats; or anything else.
enum class Results : std::uint8_t { kFitOnCurve, kOnCurve, kWithNegative, kFloats, kOther };

// Multiplies one group of four bytes of every row by one vector of weights per panel, and adds the
// products to `acc`.
template <unsigned kPanels, unsigned kTile>
QTOOL_INLINE inline void multiply(__m512i* acc, const std::uint8_t* const* rows,
                                  std::int64_t offset, const std::int8_t* weights) {
  __m512i weight[kPanels];
  unroll<kPanels>([&](auto n) QTOOL_INLINE { weight[n] = _mm512_loadu_si512(weights + n * 64U); });
  __m512i input;
  unroll<kTile * kPanels>([&](auto i) QTOOL_INLINE {
    if constexpr (i % kPanels == 0) {
      int four = 0;
      __builtin_memcpy(&four, rows[i / kPanels] + offset, 4);
      input = _mm512_set1_epi32(four);
    }
    acc[i] = _mm512_dpbusd_epi32(acc[i], input, weight[i % kPanels]);
  });
}

// Stores kRowsAtOnce rows that one vector of bytes holds.
template <unsigned kPanels, unsigned kRowsAtOnce>
QTOOL_INLINE inline void store_rows(__m512i bytes, __mmask64 mask, std::uint8_t* out,
                                    std::int64_t stride) {
  unroll<kRowsAtOnce>([&](auto m) QTOOL_INLINE {
    store_part<kPanels == 1 ? 4 : kPanels == 2 ? 2 : 1, m>(bytes, mask, out + m * stride);
  });
}

// Whether the multipliers for sums below 0 are others.
enum class Below : std::uint8_t { kSame, kOther };

// Stores kRowsAtOnce rows: up to four vectors become one of bytes.
template <unsigned kPanels, unsigned kRowsAtOnce, Products kProducts, Below kBelow = Below::kSame>
QTOOL_INLINE inline void store_bytes(const __m512i* acc, const Columns& columns, std::uint8_t* out,
                                     std::int64_t stride) {
  constexpr unsigned kVectors = kPanels * kRowsAtOnce;
  __m512i rounded[4];
  unroll<kVectors>([&](auto n) QTOOL_INLINE {
    constexpr unsigned kPanel = n % kPanels;
    if constexpr (kBelow == Below::kOther) {
      rounded[n] = round_product<kProducts>(
          scale(acc[n], columns.multiplier[kPanel], columns.negative[kPanel]));
    } else {
      rounded[n] = round_product<kProducts>(scale(acc[n], columns.multiplier[kPanel]));
    }
  });
  unroll<4 - kVectors>([&](auto n) QTOOL_INLINE { rounded[kVectors + n] = rounded[0]; });
  store_rows<kPanels, kRowsAtOnce>(sort_bytes(pack_bytes(rounded, columns.range)), columns.mask,
                                   out, stride);
}

// Adds `residual`, the same channels of another tensor, before rounding.
template <unsigned kPanels>
QTOOL_INLINE inline void store_added(const GemmCall& call, const __m512i* acc,
                                     const Columns& columns, const std::uint8_t* residual,
                                     std::uint8_t* out) {
  const __m512i zero = _mm512_set1_epi32(call.residual_zero);
  const __m512 multiplier = _mm512_set1_ps(call.residual_multiplier);
  __m512i rounded[4];
  unroll<kPanels>([&](auto n) QTOOL_INLINE {
    const auto mask = static_cast<__mmask16>(columns.mask >> (16U * n));
    const __m128i bytes = _mm_maskz_loadu_epi8(mask, residual + 16U * n);
    const __m512i centred = _mm512_sub_epi32(_mm512_cvtepu8_epi32(bytes), zero);
    const __m512 product = call.negative == nullptr
                               ? scale(acc[n], columns.multiplier[n])
                               : scale(acc[n], columns.multiplier[n], columns.negative[n]);
    const __m512 added = scale(centred, multiplier);
    rounded[n] = round_product<Products::kMayOverflow>(_mm512_add_ps(product, added));
  });
  unroll<4 - kPanels>([&](auto n) QTOOL_INLINE { rounded[kPanels + n] = rounded[0]; });
  _mm512_mask_storeu_epi8(out, columns.mask, sort_bytes(pack_bytes(rounded, columns.range)));
}

// As store_bytes(), with the bytes of a curve.
template <unsigned kPanels, unsigned kRowsAtOnce, Products kProducts>
QTOOL_INLINE inline void store_on_curve(const __m512i* acc, const Columns& columns,
                                        std::uint8_t* out, std::int64_t stride) {
  constexpr unsigned kVectors = kPanels * kRowsAtOnce;
  __m512 numbers[4];
  unroll<kVectors>([&](auto n) QTOOL_INLINE {
    numbers[n] = curve_number(acc[n], columns.multiplier[n % kPanels], columns.curve);
  });
  unroll<4 - kVectors>([&](auto n) QTOOL_INLINE { numbers[kVectors + n] = numbers[0]; });
  const FactorRegisters& last = columns.factors[kPanels > 2 ? 1 : 0];
  const __m512i bytes = pack_curve<kProducts>(numbers, columns.curve, columns.factors[0], last);
  store_rows<kPanels, kRowsAtOnce>(sort_bytes(bytes), columns.mask, out, stride);
}

// Every panel but the last has all its channels.
template <unsigned kPanels>
QTOOL_INLINE inline void store_floats(const __m512i* acc, const Columns& columns,
                                      const float* addend, float* out) {
  unroll<kPanels - 1>([&](auto n) QTOOL_INLINE {
    const __m512 product = scale(acc[n], columns.multiplier[n]);
    _mm512_storeu_ps(out + 16U * n, _mm512_add_ps(product, _mm512_loadu_ps(addend + 16U * n)));
  });
  constexpr unsigned kLast = kPanels - 1;
  const __m512 product = scale(acc[kLast], columns.multiplier[kLast]);
  const auto mask = static_cast<__mmask16>(columns.mask >> (16U * kLast));
  _mm512_mask_storeu_ps(out + 16U * kLast, mask,
                        _mm512_add_ps(product, _mm512_maskz_loadu_ps(mask, addend + 16U * kLast)));
}

template <unsigned kPanels>
QTOOL_INLINE inline void store_sums(const __m512i* acc, const Columns& columns, std::int32_t* out) {
  unroll<kPanels>([&](auto n) QTOOL_INLINE {
    const auto mask = static_cast<__mmask16>(columns.mask >> (16U * n));
    _mm512_mask_storeu_epi32(out + 16U * n, mask, acc[n]);
  });
}

// The rarer epilogues: sums, a residual, and multipliers of 1 and more.
template <unsigned kPanels>
__attribute__((noinline)) void store_rarely(const GemmCall& call, const Columns& columns,
                                            const __m512i* sums, std::int64_t row, unsigned rows) {
  if (call.output_type == OutputType::kInt32) {
    auto* out = static_cast<std::int32_t*>(call.output) + row * call.output_stride;
    for (unsigned m = 0; m < rows; ++m, out += call.output_stride) {
      store_sums<kPanels>(sums + m * kPanels, columns, out);
    }
  } else if (call.residual != nullptr) {
    auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
    const std::uint8_t* residual = call.residual + row * call.residual_stride;
    for (unsigned m = 0; m < rows; ++m, out += call.output_stride) {
      store_added<kPanels>(call, sums + m * kPanels, columns, residual, out);
      residual += call.residual_stride;
    }
  } else {
    auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
    for (unsigned m = 0; m < rows; ++m, out += call.output_stride) {
      store_bytes<kPanels, 1, Products::kMayOverflow>(sums + m * kPanels, columns, out, 0);
    }
  }
}

// This is a function of its own, because GCC 12 spills accumulators in the loop of a larger
// function.
template <unsigned kPanels, unsigned kTile, Results kResults>
__attribute__((noinline)) void run_tile(const GemmCall& call, const Columns& columns,
                                        std::int64_t row) {
  constexpr unsigned kSums = kTile * kPanels;
  __m512i acc[kSums];
  unroll<kSums>([&](auto i)
                    QTOOL_INLINE { acc[i] = _mm512_loadu_si512(call.bias + 16U * (i % kPanels)); });
  const std::int8_t* weights = call.weights;
  const std::int64_t last = call.row_bytes - 4;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* rows[kTile];
    if (call.source == RowSource::kStrided) {
      unroll<kTile>([&](auto m)
                        QTOOL_INLINE { rows[m] = call.base + (row + m) * call.row_stride; });
    } else {
      const std::uint8_t* const* table = call.rows + tap * call.row_pitch + row;
      unroll<kTile>([&](auto m) QTOOL_INLINE { rows[m] = table[m] + call.row_offset; });
    }
    std::int64_t k = 0;
    while (true) {
      multiply<kPanels, kTile>(acc, rows, k, weights);
      weights += kPanels * 64;
      if (k == last) break;
      k = k + 4 < last ? k + 4 : last;
    }
  }
  // Forces the accumulators into registers after the loop: otherwise GCC 12 stores copies of them.
  unroll<kSums>([&](auto i) QTOOL_INLINE { keep(acc[i]); });
  constexpr unsigned kMost = kPanels > 2 ? 1 : 4 / kPanels;
  constexpr unsigned kRowsAtOnce = kTile < kMost ? kTile : kMost;
  auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
  if constexpr (kResults == Results::kWithNegative) {
    unroll<kTile / kRowsAtOnce>([&](auto i) QTOOL_INLINE {
      constexpr unsigned kRow = i * kRowsAtOnce;
      store_bytes<kPanels, kRowsAtOnce, Products::kMayOverflow, Below::kOther>(
          acc + kRow * kPanels, columns, out + kRow * call.output_stride, call.output_stride);
    });
    return;
  } else if constexpr (kResults == Results::kFloats) {
    auto* reals = static_cast<float*>(call.output) + row * call.output_stride;
    const float* addend = call.onto == nullptr ? call.addend : call.onto + row * call.onto_stride;
    const std::int64_t addend_stride = call.onto == nullptr ? 0 : call.onto_stride;
    unroll<kTile>([&](auto m) QTOOL_INLINE {
      store_floats<kPanels>(acc + m * kPanels, columns, addend + m * addend_stride,
                            reals + m * call.output_stride);
    });
    return;
  } else if constexpr (kResults != Results::kOther) {
    constexpr auto kProducts =
        kResults == Results::kFitOnCurve ? Products::kFit : Products::kMayOverflow;
    unroll<kTile / kRowsAtOnce>([&](auto i) QTOOL_INLINE {
      constexpr unsigned kRow = i * kRowsAtOnce;
      store_on_curve<kPanels, kRowsAtOnce, kProducts>(
          acc + kRow * kPanels, columns, out + kRow * call.output_stride, call.output_stride);
    });
    return;
  }
  if (columns.products == Products::kFit && call.output_type == OutputType::kUInt8 &&
      call.residual == nullptr) {
    unroll<kTile / kRowsAtOnce>([&](auto i) QTOOL_INLINE {
      constexpr unsigned kRow = i * kRowsAtOnce;
      store_bytes<kPanels, kRowsAtOnce, Products::kFit>(
          acc + kRow * kPanels, columns, out + kRow * call.output_stride, call.output_stride);
    });
    return;
  }
  __m512i sums[kSums];
  unroll<kSums>([&](auto i) QTOOL_INLINE { sums[i] = acc[i]; });
  store_rarely<kPanels>(call, columns, sums, row, kTile);
}

template <unsigned kPanels, unsigned kTile, Results kResults>
void run_tiles(const GemmCall& call, const Columns& columns, std::int64_t row) {
  for (; row + kTile <= call.row_count; row += kTile) {
    run_tile<kPanels, kTile, kResults>(call, columns, row);
  }
  if constexpr (kTile > 1) {
    run_tiles<kPanels, (kTile > 8 ? 8 : kTile > 4 ? 4 : kTile / 2), kResults>(call, columns, row);
  }
}

template <unsigned kPanels>
void run_panels(const GemmCall& call) {
  Columns columns;
  columns.products = Products::kFit;
  const __m512 limit = _mm512_set1_ps(call.curve == nullptr ? 1.0F : kMostOnCurve);
  for (unsigned n = 0; n < kPanels; ++n) {
    columns.multiplier[n] = _mm512_loadu_ps(call.multiplier + 16U * n);
    const float* negative = call.negative == nullptr ? call.multiplier : call.negative;
    columns.negative[n] = _mm512_loadu_ps(negative + 16U * n);
    const __mmask16 large =
        _mm512_cmp_ps_mask(_mm512_abs_ps(columns.multiplier[n]), limit, _CMP_GE_OQ);
    if (large != 0) columns.products = Products::kMayOverflow;
  }
  columns.range = byte_range(call.zero_point, call.low, call.high);
  columns.mask = first_bytes(call.channels);
  constexpr unsigned kTile = kRows[kPanels];
  if (call.negative != nullptr && call.residual == nullptr) {
    return run_tiles<kPanels, kTile, Results::kWithNegative>(call, columns, 0);
  }
  if (call.output_type == OutputType::kFloat32) {
    return run_tiles<kPanels, kTile, Results::kFloats>(call, columns, 0);
  }
  if (call.curve == nullptr) return run_tiles<kPanels, kTile, Results::kOther>(call, columns, 0);
  columns.curve = registers_of(*call.curve);
  for (unsigned n = 0; n < kPanels; n += 2) {
    const CurveFactor* first = call.factors + 16U * n;
    columns.factors[n / 2] = factor_registers(first, n + 1 < kPanels ? first + 16 : first);
  }
  if (columns.products == Products::kFit) {
    run_tiles<kPanels, kTile, Results::kFitOnCurve>(call, columns, 0);
  } else {
    run_tiles<kPanels, kTile, Results::kOnCurve>(call, columns, 0);
  }
}

void run(const GemmCall& call) {
  switch (call.panels) {
    case 1:
      return run_panels<1>(call);
    case 2:
      return run_panels<2>(call);
    case 3:
      return run_panels<3>(call);
    default:
      return run_panels<4>(call);
  }
}

}  // namespace

constexpr GemmFunctions gemm_avx512vnni = {run, kLayout};

}  // namespace qtool
