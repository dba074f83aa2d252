#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/gemm/contract.h"

namespace qtool {
namespace {

// vpmaddubsw adds two products of bytes and saturates at 16 bits. The weights of narrow steps are
// such that it never does (pair_limit), and vpmaddwd adds its pairs in 32 bits. Wide steps use
// vpmaddwd alone, whose operands are words.
constexpr unsigned kTile = 6;
constexpr GemmLayout kLayout{.max_panels = 1, .rows = kTile, .pair_limit = 128};
constexpr std::int64_t kPanel = kLayout.panel;
constexpr std::int64_t kStep = kPanel * kLayout.group;  // bytes of weights

// The epilogue's parameters for the output channels.
struct Columns {
  __m256 multiplier[2];
  ByteRange range;
};

Columns columns_of(const GemmCall& call) {
  return {{_mm256_loadu_ps(call.multiplier), _mm256_loadu_ps(call.multiplier + 8)},
          byte_range(call.zero_point, call.low, call.high)};
}

// The values that a residual adds to 16 channels of a row.
struct Addends {
  __m256 half[2];
};

Addends addends_of(const GemmCall& call, std::int64_t row) {
  const __m128i bytes = load_bytes(call.residual + row * call.residual_stride, call.channels);
  const __m256i zero = _mm256_set1_epi32(call.residual_zero);
  const __m256 multiplier = _mm256_set1_ps(call.residual_multiplier);
  const auto real = [&](__m128i eight) {
    return scale(_mm256_sub_epi32(_mm256_cvtepu8_epi32(eight), zero), multiplier);
  };
  return {{real(bytes), real(_mm_srli_si128(bytes, 8))}};
}

// Stores the first `count` of 16 values.
template <typename T>
void store_part(const T* values, std::int64_t count, T* out) {
  for (std::int64_t c = 0; c < count; ++c) out[c] = values[c];
}

void store_floats(const GemmCall& call, const Columns& columns, const __m256i* sums,
                  std::int64_t row) {
  const float* addend = call.onto == nullptr ? call.addend : call.onto + row * call.onto_stride;
  alignas(32) float part[kPanel] = {};
  store_part(addend, call.channels, part);  // no read beyond the last channel
  for (unsigned half = 0; half < 2; ++half) {
    const __m256 real =
        _mm256_add_ps(scale(sums[half], columns.multiplier[half]), _mm256_load_ps(part + 8 * half));
    _mm256_store_ps(part + 8 * half, real);
  }
  store_part(part, call.channels, static_cast<float*>(call.output) + row * call.output_stride);
}

void store_sums(const GemmCall& call, const __m256i* sums, std::int64_t row) {
  alignas(32) std::int32_t part[kPanel];
  _mm256_store_si256(reinterpret_cast<__m256i*>(part), sums[0]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(part + 8), sums[1]);
  store_part(part, call.channels,
             static_cast<std::int32_t*>(call.output) + row * call.output_stride);
}

void store_added(const GemmCall& call, const Columns& columns, const __m256i* sums,
                 std::int64_t row) {
  const Addends addends = addends_of(call, row);
  const __m256 values[] = {_mm256_add_ps(scale(sums[0], columns.multiplier[0]), addends.half[0]),
                           _mm256_add_ps(scale(sums[1], columns.multiplier[1]), addends.half[1])};
  auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
  store_rows<1>(values, columns.range, call.channels, out, call.output_stride);
}

// The rarer epilogues: floats, sums and a residual.
__attribute__((noinline)) void store_rarely(const GemmCall& call, const Columns& columns,
                                            const __m256i* sums, std::int64_t row, unsigned rows) {
  for (unsigned m = 0; m < rows; ++m, ++row, sums += 2) {
    if (call.output_type == OutputType::kFloat32) {
      store_floats(call, columns, sums, row);
    } else if (call.output_type == OutputType::kInt32) {
      store_sums(call, sums, row);
    } else {
      store_added(call, columns, sums, row);
    }
  }
}

alignas(32) constexpr std::int16_t kLowBytes[] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                  255, 255, 255, 255, 255, 255, 255, 255};

// Adds the products of one step and every row for 16 channels to `acc`. `input(four)`: what the
// step multiplies of the row's four bytes, which each channel gets; `sums(input, weights)`: the
// sums of the products in 32 bits, for eight channels.
template <unsigned kRows, typename Input, typename Sums>
QTOOL_INLINE inline void multiply(__m256i* acc, const std::uint8_t* const* rows,
                                  std::int64_t offset, const std::int8_t* weights,
                                  const Input& input, const Sums& sums) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 32));
  unroll<kRows>([&](auto m) QTOOL_INLINE {
    int four = 0;
    __builtin_memcpy(&four, rows[m] + offset, 4);
    const __m256i factors = input(_mm256_set1_epi32(four));
    acc[2 * m] = _mm256_add_epi32(acc[2 * m], sums(factors, low));
    acc[2 * m + 1] = _mm256_add_epi32(acc[2 * m + 1], sums(factors, high));
  });
}

template <unsigned kRows>
__attribute__((noinline)) void run_tile(const GemmCall& call, const Columns& columns,
                                        std::int64_t row) {
  constexpr unsigned kSums = 2 * kRows;
  __m256i acc[kSums];
  unroll<kSums>([&](auto i) QTOOL_INLINE {
    acc[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(call.bias + 8U * (i % 2)));
  });
  // The sums take 12 of the 16 registers. So the constants stay in memory where that costs nothing.
  __m256i ones;
  const auto all_bytes = [](__m256i four) QTOOL_INLINE { return four; };
  const auto low_bytes = [](__m256i four) QTOOL_INLINE {
    const auto* mask = reinterpret_cast<const __m256i*>(kLowBytes);
    asm("" : "+r"(mask));  // or the compiler loads the mask once and keeps it
    return _mm256_and_si256(four, _mm256_load_si256(mask));
  };
  const auto sums_of_bytes = [&](__m256i four, __m256i bytes) QTOOL_INLINE {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(four, bytes), ones);
  };
  const auto sums_of_words = [](__m256i first_and_third, __m256i words)
                                 QTOOL_INLINE { return _mm256_madd_epi16(first_and_third, words); };
  const std::int8_t* weights = call.weights;
  const std::int32_t* start = call.starts;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* rows[kRows];
    if (call.source == RowSource::kStrided) {
      unroll<kRows>([&](auto m)
                        QTOOL_INLINE { rows[m] = call.base + (row + m) * call.row_stride; });
    } else {
      const std::uint8_t* const* table = call.rows + tap * call.row_pitch + row;
      unroll<kRows>([&](auto m) QTOOL_INLINE { rows[m] = table[m] + call.row_offset; });
    }
    ones = _mm256_set1_epi16(1);
    asm("" : "+x"(ones));  // or the compiler keeps them while the wide steps run
    for (const auto* end = call.starts + call.steps[tap].narrow_end; start < end; ++start) {
      multiply<kRows>(acc, rows, *start, weights, all_bytes, sums_of_bytes);
      weights += kStep;
    }
    for (const auto* end = call.starts + call.steps[tap].wide_end; start < end; ++start) {
      multiply<kRows>(acc, rows, *start, weights, low_bytes, sums_of_words);
      weights += kStep;
    }
  }
  if (call.output_type == OutputType::kUInt8 && call.residual == nullptr) {
    auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
    __m256 products[kSums];
    unroll<kSums>([&](auto i)
                      QTOOL_INLINE { products[i] = scale(acc[i], columns.multiplier[i % 2]); });
    store_rows<kRows>(products, columns.range, call.channels, out, call.output_stride);
    return;
  }
  __m256i sums[kSums];
  unroll<kSums>([&](auto i) QTOOL_INLINE { sums[i] = acc[i]; });
  store_rarely(call, columns, sums, row, kRows);
}

template <unsigned kRows>
void run_tiles(const GemmCall& call, const Columns& columns, std::int64_t row) {
  for (; row + kRows <= call.row_count; row += kRows) run_tile<kRows>(call, columns, row);
  if constexpr (kRows > 1) run_tiles<kRows / 2>(call, columns, row);
}

void run(const GemmCall& call) { run_tiles<kTile>(call, columns_of(call), 0); }

}  // namespace

constexpr GemmFunctions gemm_avx2 = {run, kLayout};

}  // namespace qtool
