#include <cstdint>

#include "kernels/gemm/stages.h"

namespace qtool {
namespace {

// vpmaddubsw adds two products of bytes and saturates at 16 bits. The weights of narrow steps are
// such that it never does (pair_limit), and vpmaddwd adds its pairs in 32 bits. Wide steps use
// vpmaddwd alone, whose operands are words.
constexpr GemmLayout kLayout{
    .panel = kPanel, .group = kGroup, .max_panels = 1, .rows = kTile, .pair_limit = 128};

alignas(32) constexpr std::int16_t kLowBytes[] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                  255, 255, 255, 255, 255, 255, 255, 255};

struct Tile {
  template <unsigned kRows>
  __attribute__((noinline)) static void run(const GemmCall& call, const Columns& columns,
                                            std::int64_t row) {
    __m256i acc[2 * kRows];
    load_bias<kRows>(call, acc);
    // The sums take 12 of the 16 registers. So the constants stay in memory where that costs
    // nothing.
    __m256i ones;
    const auto all_bytes = [](__m256i four) QTOOL_INLINE { return four; };
    const auto low_bytes = [](__m256i four) QTOOL_INLINE {
      const auto* mask = reinterpret_cast<const __m256i*>(kLowBytes);
      asm("" : "+r"(mask));  // or the compiler loads the mask once and keeps it
      return _mm256_and_si256(four, _mm256_load_si256(mask));
    };
    const auto add_bytes = [&](__m256i sums, __m256i four, __m256i bytes) QTOOL_INLINE {
      return _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(four, bytes), ones));
    };
    const auto add_words = [](__m256i sums, __m256i first_and_third, __m256i words) QTOOL_INLINE {
      return _mm256_add_epi32(sums, _mm256_madd_epi16(first_and_third, words));
    };
    const std::int8_t* weights = call.weights;
    const std::int32_t* start = call.starts;
    for (std::int64_t tap = 0; tap < call.taps; ++tap) {
      const std::uint8_t* rows[kRows];
      find_rows<kRows>(call, row, tap, rows);
      ones = _mm256_set1_epi16(1);
      asm("" : "+x"(ones));  // or the compiler keeps them while the wide steps run
      for (const auto* end = call.starts + call.steps[tap].narrow_end; start < end; ++start) {
        multiply<kRows>(acc, rows, *start, weights, all_bytes, add_bytes);
        weights += kStep;
      }
      for (const auto* end = call.starts + call.steps[tap].wide_end; start < end; ++start) {
        multiply<kRows>(acc, rows, *start, weights, low_bytes, add_words);
        weights += kStep;
      }
    }
    store_tile<kRows>(call, columns, acc, row);
  }
};

}  // namespace

constexpr GemmFunctions gemm_avx2 = {run_rows<Tile>, kLayout};

}  // namespace qtool
