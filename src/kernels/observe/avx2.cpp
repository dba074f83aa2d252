#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/observe/contract.h"
#include "kernels/observe/stages.h"
#include "kernels/unroll.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr unsigned kVectors = 2;  // three would need more than sixteen registers

// Adds one block of 16 channels and keeps its totals in registers over all pixels. Returns the
// number of zeros.
std::int64_t accumulate_block(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                              std::int64_t channel, Fetch& fetch) {
  __m256d sums[2 * kVectors];
  __m256d squares[2 * kVectors];
  __m256 lows[kVectors];
  __m256 highs[kVectors];
  unroll<kVectors>([&](auto v) QTOOL_INLINE {
    lows[v] = _mm256_loadu_ps(totals.lows + channel + kLanes * std::int64_t{v});
    highs[v] = _mm256_loadu_ps(totals.highs + channel + kLanes * std::int64_t{v});
  });
  unroll<2 * kVectors>([&](auto h) QTOOL_INLINE {
    sums[h] = _mm256_loadu_pd(totals.sums + channel + 4 * std::int64_t{h});
    squares[h] = _mm256_loadu_pd(totals.squares + channel + 4 * std::int64_t{h});
  });
  const __m256i exponent = _mm256_set1_epi32(0x7F800000);
  __m256i zeros = _mm256_setzero_si256();  // counts down: a comparison that is true gives -1
  Fetch mine = fetch;
  const float* pixel = values + channel;
  for (std::int64_t p = 0; p < pixels; ++p, pixel += totals.width) {
    mine.lines<1>();
    unroll<kVectors>([&](auto v) QTOOL_INLINE {
      const __m256 x = _mm256_loadu_ps(pixel + kLanes * std::int64_t{v});
      lows[v] = _mm256_min_ps(x, lows[v]);
      highs[v] = _mm256_max_ps(x, highs[v]);
      const __m256i bits = _mm256_and_si256(_mm256_castps_si256(x), exponent);
      zeros = _mm256_add_epi32(zeros, _mm256_cmpeq_epi32(bits, _mm256_setzero_si256()));
    });
    unroll<2 * kVectors>([&](auto h) QTOOL_INLINE {
      const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(pixel + 4 * std::int64_t{h}));
      sums[h] = _mm256_add_pd(sums[h], x);
      squares[h] = _mm256_fmadd_pd(x, x, squares[h]);
    });
  }
  fetch = mine;
  unroll<kVectors>([&](auto v) QTOOL_INLINE {
    _mm256_storeu_ps(totals.lows + channel + kLanes * std::int64_t{v}, lows[v]);
    _mm256_storeu_ps(totals.highs + channel + kLanes * std::int64_t{v}, highs[v]);
  });
  unroll<2 * kVectors>([&](auto h) QTOOL_INLINE {
    _mm256_storeu_pd(totals.sums + channel + 4 * std::int64_t{h}, sums[h]);
    _mm256_storeu_pd(totals.squares + channel + 4 * std::int64_t{h}, squares[h]);
  });
  alignas(32) std::int32_t lanes[kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), zeros);
  std::int64_t count = 0;
  for (const std::int32_t lane : lanes) count -= lane;
  return count;
}

Seen accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                const Ahead& ahead) {
  Fetch fetch(ahead);
  const std::int64_t width = totals.width;
  std::int64_t nonzeros = pixels * width;
  std::int64_t c = 0;
  for (; c + kLanes * kVectors <= width; c += kLanes * kVectors) {
    nonzeros -= accumulate_block(values, pixels, totals, c, fetch);
  }
  nonzeros -= accumulate_rest(values, pixels, totals, c);
  return seen_in(totals, nonzeros);
}

// For every subset of the eight lanes, the permutation that moves its lanes to the front, one byte
// per lane.
struct Orders {
  std::uint64_t of[256];
};

constexpr Orders make_orders() {
  Orders orders{};
  for (unsigned set = 0; set < 256; ++set) {
    unsigned position = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      if ((set >> lane & 1U) != 0) orders.of[set] |= std::uint64_t{lane} << (8 * position++);
    }
  }
  return orders;
}

constexpr Orders kOrders = make_orders();

std::int64_t cells(const float* values, std::int64_t count, float cells_per_unit, Signs /*signs*/,
                   std::int32_t* cells) {
  const __m256 factor = _mm256_set1_ps(cells_per_unit);
  const __m256 sign_bit = _mm256_set1_ps(-0.0F);
  const __m256 smallest = _mm256_set1_ps(kSmallestNormal);
  std::int64_t kept = 0;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 x = _mm256_loadu_ps(values + i);
    const __m256 counted = _mm256_cmp_ps(_mm256_andnot_ps(sign_bit, x), smallest, _CMP_GE_OQ);
    const __m256i cell = _mm256_add_epi32(_mm256_cvttps_epi32(_mm256_mul_ps(x, factor)),
                                          _mm256_srai_epi32(_mm256_castps_si256(x), 31));
    const auto set = static_cast<unsigned>(_mm256_movemask_ps(counted));
    const __m256i order =
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kOrders.of[set])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(cells + kept),
                        _mm256_permutevar8x32_epi32(cell, order));
    kept += _mm_popcnt_u32(set);
  }
  return kept + cells_of_rest(values + i, count - i, cells_per_unit, cells + kept);
}

}  // namespace

constexpr ObserveFunctions observe_avx2 = {accumulate, cells};

}  // namespace qtool
