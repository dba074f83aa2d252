#include <cstdint>

#include "kernels/gemm/stages.h"

namespace qtool {
namespace {

// vpmaddubsw adds two products of bytes and saturates at 16 bits. The weights of narrow steps are
// such that it never does (pair_limit), and vpmaddwd adds its pairs in 32 bits. Where the pairs of
// the stored order would be too large, other bytes are made neighbours first, which costs one
// instruction for each row. Wide steps use vpmaddwd alone, whose operands are words.
constexpr GemmLayout kLayout{
    .panel = kPanel, .group = kGroup, .max_panels = 1, .rows = kTile, .pair_limit = 128};

alignas(32) constexpr std::int16_t kLowBytes[] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                  255, 255, 255, 255, 255, 255, 255, 255};

// For vpshufb: the bytes of each group in the orders of kByteOrder.
struct Orders {
  alignas(32) std::int8_t bytes[kByteOrders][32];
};
constexpr Orders make_orders() {
  Orders orders{};
  for (int order = 0; order < kByteOrders; ++order) {
    for (int i = 0; i < 32; ++i) {
      orders.bytes[order][i] = static_cast<std::int8_t>(i % 16 / 4 * 4 + kByteOrder[order][i % 4]);
    }
  }
  return orders;
}
constexpr Orders kOrders = make_orders();

// Loads a constant at its every use, or the compiler loads it once and keeps it in a register.
template <typename T>
QTOOL_INLINE inline __m256i from_memory(const T* constant) {
  const auto* at = reinterpret_cast<const __m256i*>(constant);
  asm("" : "+r"(at));
  return _mm256_load_si256(at);
}

// Adds the products of a wide step and every row to `acc`.
template <unsigned kRows>
QTOOL_INLINE inline void multiply_words(__m256i* acc, const std::uint8_t* const* rows,
                                        std::int64_t offset, const std::int8_t* weights) {
  const auto* words = reinterpret_cast<const __m256i*>(weights);
  const auto add = [](__m256i sums, __m256i bytes, const __m256i* of_bytes) QTOOL_INLINE {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(bytes, _mm256_loadu_si256(of_bytes)));
  };
  unroll<kRows>([&](auto m) QTOOL_INLINE {
    int four = 0;
    __builtin_memcpy(&four, rows[m] + offset, 4);
    const __m256i bytes = _mm256_set1_epi32(four);
    const __m256i even = _mm256_and_si256(bytes, from_memory(kLowBytes));
    acc[2 * m] = add(acc[2 * m], even, words);
    acc[2 * m + 1] = add(acc[2 * m + 1], even, words + 1);
    const __m256i odd = _mm256_srli_epi16(bytes, 8);
    acc[2 * m] = add(acc[2 * m], odd, words + 2);
    acc[2 * m + 1] = add(acc[2 * m + 1], odd, words + 3);
  });
}

struct Tile {
  template <unsigned kRows>
  __attribute__((noinline)) static void run(const GemmCall& call, const Columns& columns,
                                            std::int64_t row) {
    __m256i acc[2 * kRows];
    load_bias<kRows>(call, acc);
    // The sums take 12 of the 16 registers. So the constants stay in memory where that costs
    // nothing.
    __m256i ones;
    const auto add_bytes = [&](__m256i sums, __m256i four, __m256i bytes) QTOOL_INLINE {
      return _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(four, bytes), ones));
    };
    const std::int8_t* weights = call.weights;
    const std::int32_t* start = call.starts;
    for (std::int64_t tap = 0; tap < call.taps; ++tap) {
      const std::uint8_t* rows[kRows];
      find_rows<kRows>(call, row, tap, rows);
      ones = _mm256_set1_epi16(1);
      asm("" : "+x"(ones));  // or the compiler keeps them while the wide steps run
      const TapSteps& steps = call.steps[tap];
      unroll<kByteOrders>([&](auto i) QTOOL_INLINE {
        constexpr int kOrder = decltype(i)::value;
        const auto in_order = [](__m256i four) QTOOL_INLINE {
          if constexpr (kOrder == 0) return four;
          return _mm256_shuffle_epi8(four, from_memory(kOrders.bytes[kOrder]));
        };
        for (const auto* end = call.starts + steps.narrow_end[kOrder]; start < end; ++start) {
          multiply<kRows>(acc, rows, *start, weights, in_order, add_bytes);
          weights += kStep;
        }
      });
      for (const auto* end = call.starts + steps.wide_end; start < end; ++start) {
        multiply_words<kRows>(acc, rows, *start, weights);
        weights += 2 * kStep;
      }
    }
    store_tile<kRows>(call, columns, acc, row);
  }
};

}  // namespace

constexpr GemmFunctions gemm_avx2 = {run_rows<Tile>, kLayout};

}  // namespace qtool
