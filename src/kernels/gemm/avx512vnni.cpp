#include <cstdint>

#include "kernels/gemm/contract.h"
#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

namespace qtool {
namespace {

// Row tiles for 1 to 4 panels: as many accumulators as 32 registers hold beside the weights, and at
// least the ten that cover the latency of vpdpbusd.
constexpr unsigned kRows[] = {0, 12, 12, 8, 6};

template <unsigned kPanels, unsigned kTile>
struct Tile {
  __m512i acc[kTile * kPanels];
};

// One group of four bytes of every row against one vector of weights per panel.
template <unsigned kPanels, unsigned kTile>
QTOOL_INLINE inline void multiply(Tile<kPanels, kTile>& tile, const std::uint8_t* const* rows,
                                  std::int64_t offset, const std::int8_t* weights) {
  __m512i weight[kPanels];
  unroll<kPanels>([&](auto n) QTOOL_INLINE { weight[n] = _mm512_loadu_si512(weights + n * 64U); });
  __m512i input;
  unroll<kTile * kPanels>([&](auto i) QTOOL_INLINE {
    constexpr unsigned m = i / kPanels;
    constexpr unsigned n = i % kPanels;
    if constexpr (n == 0) {
      int four = 0;
      __builtin_memcpy(&four, rows[m] + offset, 4);
      input = _mm512_set1_epi32(four);
    }
    tile.acc[i] = _mm512_dpbusd_epi32(tile.acc[i], input, weight[n]);
  });
}

struct Columns {
  __m512 multiplier[kGemmMostPanels];
  __m512i zero_point;  // 16-bit
  __m512i low;
  __m512i high;
  __mmask64 mask;
};

// clamp(rint(float(acc) * multiplier) + zero_point, low, high) of 64 sums. Only the upper limit
// must be applied before rounding: a sum below int32 rounds to INT_MIN and then saturates.
template <unsigned kPanels>
QTOOL_INLINE inline void store_bytes(const __m512i* acc, const Columns& columns,
                                     std::uint8_t* out) {
  __m512i rounded[4];
  unroll<kPanels>([&](auto n) QTOOL_INLINE {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[n]), columns.multiplier[n]);
    rounded[n] = _mm512_cvtps_epi32(_mm512_min_ps(product, _mm512_set1_ps(65536.0F)));
  });
  unroll<4 - kPanels>([&](auto n) QTOOL_INLINE { rounded[kPanels + n] = rounded[0]; });
  const __m512i first =
      _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), columns.zero_point);
  __m512i second = first;
  if constexpr (kPanels > 2) {
    second = _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), columns.zero_point);
  }
  const __m512i bytes = _mm512_packus_epi16(first, second);
  const __m512i clamped = _mm512_min_epu8(_mm512_max_epu8(bytes, columns.low), columns.high);
  // The packs interleaved the panels within 128-bit lanes.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_mask_storeu_epi8(out, columns.mask, _mm512_permutexvar_epi32(order, clamped));
}

template <unsigned kPanels>
QTOOL_INLINE inline void store_floats(const __m512i* acc, const Columns& columns,
                                      const float* addend, float* out) {
  unroll<kPanels>([&](auto n) QTOOL_INLINE {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[n]), columns.multiplier[n]);
    const auto mask = static_cast<__mmask16>(columns.mask >> (16U * n));
    _mm512_mask_storeu_ps(out + 16U * n, mask,
                          _mm512_add_ps(product, _mm512_loadu_ps(addend + 16U * n)));
  });
}

// The sums of kTile rows. A function of its own, and its sums go through memory: around a larger
// body GCC 12 keeps a second copy of every accumulator and spills it in the loop.
template <unsigned kPanels, unsigned kTile>
__attribute__((noinline)) void run_tile(const GemmCall& call, std::int64_t row, __m512i* sums) {
  Tile<kPanels, kTile> tile;
  unroll<kPanels>([&](auto n) QTOOL_INLINE {
    const __m512i bias = _mm512_loadu_si512(call.bias + 16U * n);
    unroll<kTile>([&](auto m) QTOOL_INLINE { tile.acc[m * kPanels + n] = bias; });
  });
  const std::int8_t* weights = call.weights;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* rows[kTile];
    if (call.source == RowSource::kStrided) {
      unroll<kTile>([&](auto m)
                        QTOOL_INLINE { rows[m] = call.base + (row + m) * call.row_stride; });
    } else {
      const std::uint8_t* const* table = call.rows + tap * call.row_pitch + row;
      unroll<kTile>([&](auto m) QTOOL_INLINE { rows[m] = table[m] + call.row_offset; });
    }
    const std::int64_t last = call.run - 4;
    std::int64_t k = 0;
    while (true) {
      multiply<kPanels, kTile>(tile, rows, k, weights);
      weights += kPanels * 64;
      if (k == last) break;
      k = k + 4 < last ? k + 4 : last;
    }
  }
  unroll<kTile * kPanels>([&](auto i) QTOOL_INLINE { sums[i] = tile.acc[i]; });
}

template <unsigned kPanels>
void store(const GemmCall& call, const Columns& columns, const __m512i* sums, std::int64_t row,
           unsigned rows) {
  if (call.output_type == OutputType::kFloat32) {
    auto* out = static_cast<float*>(call.output) + row * call.output_stride;
    for (unsigned m = 0; m < rows; ++m, out += call.output_stride) {
      store_floats<kPanels>(sums + m * kPanels, columns, call.addend, out);
    }
  } else {
    auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
    for (unsigned m = 0; m < rows; ++m, out += call.output_stride) {
      store_bytes<kPanels>(sums + m * kPanels, columns, out);
    }
  }
}

template <unsigned kPanels, unsigned kTile>
__attribute__((noinline)) void run_tiles(const GemmCall& call, const Columns& columns,
                                         std::int64_t row) {
  for (; row + kTile <= call.row_count; row += kTile) {
    __m512i sums[kTile * kPanels];
    run_tile<kPanels, kTile>(call, row, sums);
    store<kPanels>(call, columns, sums, row, kTile);
  }
  if constexpr (kTile > 1) {
    run_tiles<kPanels, (kTile > 8 ? 8 : kTile > 4 ? 4 : kTile / 2)>(call, columns, row);
  }
}

template <unsigned kPanels>
void run_panels(const GemmCall& call) {
  Columns columns;
  for (unsigned n = 0; n < kPanels; ++n) {
    columns.multiplier[n] = _mm512_loadu_ps(call.multiplier + 16U * n);
  }
  columns.zero_point = _mm512_set1_epi16(static_cast<short>(call.zero_point));
  columns.low = _mm512_set1_epi8(static_cast<char>(call.low));
  columns.high = _mm512_set1_epi8(static_cast<char>(call.high));
  columns.mask = ~std::uint64_t{0} >> (64 - call.channels);
  run_tiles<kPanels, kRows[kPanels]>(call, columns, 0);
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

constexpr GemmFunctions gemm_avx512vnni = {run};

}  // namespace qtool
