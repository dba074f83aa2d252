#include <cstdint>

#include "base/round_up.h"
#include "kernels/intrinsics.h"
#include "kernels/observe/contract.h"
#include "kernels/observe/stages.h"
#include "kernels/unroll.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr __mmask16 kAllLanes = 0xFFFF;

struct Reach {
  __m512 lows;
  __m512 highs;
  std::uint32_t broken;  // not 0 after a square was not finite
  std::int64_t nonzeros;
};

// Adds one block of up to 16 * kVectors channels; `last` masks the channels of its last vector. If
// this vector is full (kFull), no instruction needs a mask, and loads become operands of the
// conversions.
template <unsigned kVectors, bool kFull>
void accumulate_block(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                      std::int64_t channel, __mmask16 last, Reach& reach, Fetch& fetch) {
  __m512d sums[2 * kVectors];
  __m512d squares[2 * kVectors];
  __m512 lows[kVectors];
  __m512 highs[kVectors];
  const auto mask = [&](unsigned v)
                        QTOOL_INLINE { return !kFull && v + 1 == kVectors ? last : kAllLanes; };
  const auto half = [&](unsigned h) QTOOL_INLINE {
    return static_cast<__mmask8>(mask(h / 2) >> (8 * (h % 2)));
  };
  unroll<kVectors>([&](auto v) QTOOL_INLINE {
    const std::int64_t at = channel + kLanes * std::int64_t{v};
    lows[v] = _mm512_mask_loadu_ps(reach.lows, mask(v), totals.lows + at);
    highs[v] = _mm512_mask_loadu_ps(reach.highs, mask(v), totals.highs + at);
  });
  unroll<2 * kVectors>([&](auto h) QTOOL_INLINE {
    const std::int64_t at = channel + 8 * std::int64_t{h};
    sums[h] = _mm512_maskz_loadu_pd(half(h), totals.sums + at);
    squares[h] = _mm512_maskz_loadu_pd(half(h), totals.squares + at);
  });
  const __m512i exponent = _mm512_set1_epi32(0x7F800000);
  std::int64_t nonzeros = 0;
  Fetch mine = fetch;
  const float* pixel = values + channel;
  for (std::int64_t p = 0; p < pixels; ++p, pixel += totals.width) {
    mine.lines<kVectors>();
    unroll<kVectors>([&](auto v) QTOOL_INLINE {
      const __m512 x = _mm512_maskz_loadu_ps(mask(v), pixel + kLanes * std::int64_t{v});
      lows[v] = _mm512_mask_min_ps(lows[v], mask(v), x, lows[v]);
      highs[v] = _mm512_mask_max_ps(highs[v], mask(v), x, highs[v]);
      const __mmask16 nonzero = _mm512_test_epi32_mask(_mm512_castps_si512(x), exponent);
      nonzeros += _mm_popcnt_u32(nonzero);
    });
    unroll<2 * kVectors>([&](auto h) QTOOL_INLINE {
      const __m512d x =
          _mm512_cvtps_pd(_mm256_maskz_loadu_ps(half(h), pixel + 8 * std::int64_t{h}));
      sums[h] = _mm512_add_pd(sums[h], x);
      squares[h] = _mm512_fmadd_pd(x, x, squares[h]);
    });
  }
  fetch = mine;
  reach.nonzeros += nonzeros;
  const __m512d infinity = _mm512_set1_pd(__builtin_inf());
  unroll<kVectors>([&](auto v) QTOOL_INLINE {
    const std::int64_t at = channel + kLanes * std::int64_t{v};
    _mm512_mask_storeu_ps(totals.lows + at, mask(v), lows[v]);
    _mm512_mask_storeu_ps(totals.highs + at, mask(v), highs[v]);
    reach.lows = _mm512_min_ps(reach.lows, lows[v]);
    reach.highs = _mm512_max_ps(reach.highs, highs[v]);
  });
  unroll<2 * kVectors>([&](auto h) QTOOL_INLINE {
    const std::int64_t at = channel + 8 * std::int64_t{h};
    _mm512_mask_storeu_pd(totals.sums + at, half(h), sums[h]);
    _mm512_mask_storeu_pd(totals.squares + at, half(h), squares[h]);
    reach.broken |= _mm512_cmp_pd_mask(squares[h], infinity, _CMP_NLT_UQ);
  });
}

template <unsigned kVectors>
void accumulate_vectors(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                        std::int64_t channel, __mmask16 last, Reach& reach, Fetch& fetch) {
  if (last == kAllLanes) {
    accumulate_block<kVectors, true>(values, pixels, totals, channel, last, reach, fetch);
  } else {
    accumulate_block<kVectors, false>(values, pixels, totals, channel, last, reach, fetch);
  }
}

Seen accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                const Ahead& ahead) {
  Fetch fetch(ahead);
  Reach reach{_mm512_set1_ps(__builtin_inff()), _mm512_set1_ps(-__builtin_inff()), 0, 0};
  for (std::int64_t c = 0; c < totals.width; c += 4 * kLanes) {
    const std::int64_t rest = totals.width - c;
    const std::int64_t vectors = rest >= 4 * kLanes ? 4 : ceil_div(rest, kLanes);
    const std::int64_t left = rest - kLanes * (vectors - 1);
    const auto last = left >= kLanes ? kAllLanes : static_cast<__mmask16>((1 << left) - 1);
    if (vectors == 4) {
      accumulate_vectors<4>(values, pixels, totals, c, last, reach, fetch);
    } else if (vectors == 3) {
      accumulate_vectors<3>(values, pixels, totals, c, last, reach, fetch);
    } else if (vectors == 2) {
      accumulate_vectors<2>(values, pixels, totals, c, last, reach, fetch);
    } else {
      accumulate_vectors<1>(values, pixels, totals, c, last, reach, fetch);
    }
  }
  return {_mm512_reduce_min_ps(reach.lows), _mm512_reduce_max_ps(reach.highs), reach.broken == 0,
          reach.nonzeros};
}

// Converts values to cells; see ObserveFunctions::cells.
template <Signs kSigns>
struct Grid {
  __m512 factor;
  __m512i magnitude_bits = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest_zero = _mm512_set1_epi32(0x007FFFFF);

  // Stores the cells of the values of x that are not zero and returns their number.
  QTOOL_INLINE std::int64_t store(__m512 x, std::int32_t* out) const {
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 counted =
        _mm512_cmpgt_epu32_mask(_mm512_and_si512(bits, magnitude_bits), largest_zero);
    __m512i cell = _mm512_cvttps_epi32(_mm512_mul_ps(x, factor));
    if (kSigns == Signs::kBoth) cell = _mm512_add_epi32(cell, _mm512_srai_epi32(bits, 31));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(counted, cell));
    return _mm_popcnt_u32(counted);
  }
};

template <Signs kSigns>
std::int64_t cells_of(const float* values, std::int64_t count, float cells_per_unit,
                      std::int32_t* cells) {
  const Grid<kSigns> grid{_mm512_set1_ps(cells_per_unit)};
  std::int32_t* out = cells;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) out += grid.store(_mm512_loadu_ps(values + i), out);
  const auto rest = static_cast<__mmask16>((1U << (count - i)) - 1);
  if (rest != 0) out += grid.store(_mm512_maskz_loadu_ps(rest, values + i), out);
  return out - cells;
}

std::int64_t cells(const float* values, std::int64_t count, float cells_per_unit, Signs signs,
                   std::int32_t* cells) {
  return signs == Signs::kBoth ? cells_of<Signs::kBoth>(values, count, cells_per_unit, cells)
                               : cells_of<Signs::kPositive>(values, count, cells_per_unit, cells);
}

}  // namespace

constexpr ObserveFunctions observe_avx512vnni = {accumulate, cells};

}  // namespace qtool
