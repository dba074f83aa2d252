#pragma once

#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/gemm/contract.h"

// What kernels with registers of 256 bits share: the rows of a tile, the epilogue, and the whole
// kernel for vpdpbusd. That instruction has two forms, which only differ in their encoding: of
// AVX-VNNI, and of AVX-512 VL with VNNI. `Dot` names one.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see logarithm.h

constexpr unsigned kTile = 6;
constexpr std::int64_t kPanel = 16;
constexpr std::int64_t kGroup = 4;
constexpr std::int64_t kStep = kPanel * kGroup;  // bytes of weights

// The epilogue's parameters for the output channels.
struct Columns {
  __m256 multiplier[2];
  __m256 negative[2];  // for sums below 0
  ByteRange range;
  CurveVectors curve;  // only for bytes of a curve
};

Columns columns_of(const GemmCall& call) {
  Columns columns;
  columns.multiplier[0] = _mm256_loadu_ps(call.multiplier);
  columns.multiplier[1] = _mm256_loadu_ps(call.multiplier + 8);
  const float* negative = call.negative == nullptr ? call.multiplier : call.negative;
  columns.negative[0] = _mm256_loadu_ps(negative);
  columns.negative[1] = _mm256_loadu_ps(negative + 8);
  columns.range = byte_range(call.zero_point, call.low, call.high);
  if (call.curve != nullptr) columns.curve = curve_vectors(*call.curve, call.factors);
  return columns;
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
  float* out = static_cast<float*>(call.output) + row * call.output_stride;
  for (std::int64_t half = 0, left = call.channels; left > 0; ++half, left -= 8) {
    const __m256 product = scale(sums[half], columns.multiplier[half]);
    if (left >= 8) {
      _mm256_storeu_ps(out + 8 * half, _mm256_add_ps(product, _mm256_loadu_ps(addend + 8 * half)));
      continue;
    }
    alignas(32) float part[8] = {};
    store_part(addend + 8 * half, left, part);  // no read beyond the last channel
    _mm256_store_ps(part, _mm256_add_ps(product, _mm256_load_ps(part)));
    store_part(part, left, out + 8 * half);
  }
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
  __m256 values[2];
  for (unsigned half = 0; half < 2; ++half) {
    const __m256 product = call.negative == nullptr ? scale(sums[half], columns.multiplier[half])
                                                    : scale(sums[half], columns.multiplier[half],
                                                            columns.negative[half]);
    values[half] = _mm256_add_ps(product, addends.half[half]);
  }
  auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
  store_rows<1>(values, packs_into(columns.range), call.channels, out, call.output_stride);
}

// Stores the rows of a tile as bytes of a curve.
__attribute__((noinline)) void store_curve(const GemmCall& call, const Columns& columns,
                                           const __m256i* sums, std::int64_t row, unsigned rows) {
  auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
  store_on_curve(columns.curve, columns.multiplier, sums, rows, call.channels, out,
                 call.output_stride);
}

// Stores the rows of a tile as bytes, with the multipliers for sums below 0.
__attribute__((noinline)) void store_with_negative(const GemmCall& call, const Columns& columns,
                                                   const __m256i* sums, std::int64_t row,
                                                   unsigned rows) {
  auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
  const auto product = [&](__m256i eight, unsigned half) QTOOL_INLINE {
    return scale(eight, columns.multiplier[half], columns.negative[half]);
  };
  store_sums_as(product, packs_into(columns.range), sums, rows, call.channels, out,
                call.output_stride);
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

template <unsigned kRows>
QTOOL_INLINE inline void load_bias(const GemmCall& call, __m256i* acc) {
  unroll<2 * kRows>([&](auto i) QTOOL_INLINE {
    acc[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(call.bias + 8U * (i % 2)));
  });
}

// The rows of a tile at one tap.
template <unsigned kRows>
QTOOL_INLINE inline void find_rows(const GemmCall& call, std::int64_t row, std::int64_t tap,
                                   const std::uint8_t** rows) {
  if (call.source == RowSource::kStrided) {
    unroll<kRows>([&](auto m) QTOOL_INLINE { rows[m] = call.base + (row + m) * call.row_stride; });
  } else {
    const std::uint8_t* const* table = call.rows + tap * call.row_pitch + row;
    unroll<kRows>([&](auto m) QTOOL_INLINE { rows[m] = table[m] + call.row_offset; });
  }
}

// Adds the products of one step and every row for 16 channels to `acc`. `input(four)`: what the
// step multiplies of the row's four bytes, which each channel gets; `add(sums, input, weights)`:
// adds the products in 32 bits, for eight channels.
template <unsigned kRows, typename Input, typename Add>
QTOOL_INLINE inline void multiply(__m256i* acc, const std::uint8_t* const* rows,
                                  std::int64_t offset, const std::int8_t* weights,
                                  const Input& input, const Add& add) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 32));
  unroll<kRows>([&](auto m) QTOOL_INLINE {
    int four = 0;
    __builtin_memcpy(&four, rows[m] + offset, 4);
    const __m256i factors = input(_mm256_set1_epi32(four));
    acc[2 * m] = add(acc[2 * m], factors, low);
    acc[2 * m + 1] = add(acc[2 * m + 1], factors, high);
  });
}

template <unsigned kRows>
QTOOL_INLINE inline void store_tile(const GemmCall& call, const Columns& columns,
                                    const __m256i* acc, std::int64_t row) {
  constexpr unsigned kSums = 2 * kRows;
  const bool bytes = call.output_type == OutputType::kUInt8 && call.residual == nullptr;
  if (bytes && call.negative == nullptr && call.curve == nullptr) {
    auto* out = static_cast<std::uint8_t*>(call.output) + row * call.output_stride;
    __m256 products[kSums];
    unroll<kSums>([&](auto i)
                      QTOOL_INLINE { products[i] = scale(acc[i], columns.multiplier[i % 2]); });
    store_rows<kRows>(products, packs_into(columns.range), call.channels, out, call.output_stride);
    return;
  }
  __m256i sums[kSums];
  unroll<kSums>([&](auto i) QTOOL_INLINE { sums[i] = acc[i]; });
  if (call.curve != nullptr) return store_curve(call, columns, sums, row, kRows);
  if (bytes) return store_with_negative(call, columns, sums, row, kRows);
  store_rarely(call, columns, sums, row, kRows);
}

// Runs the rows from `row` on in tiles. Tile::run<n>() computes n of them.
template <typename Tile, unsigned kRows = kTile>
void run_tiles(const GemmCall& call, const Columns& columns, std::int64_t row) {
  for (; row + kRows <= call.row_count; row += kRows) {
    Tile::template run<kRows>(call, columns, row);
  }
  if constexpr (kRows > 1) run_tiles<Tile, kRows / 2>(call, columns, row);
}

template <typename Tile>
void run_rows(const GemmCall& call) {
  run_tiles<Tile>(call, columns_of(call), 0);
}

// The tiles of the kernel for vpdpbusd.
template <typename Dot>
struct DotTile {
  template <unsigned kRows>
  __attribute__((noinline)) static void run(const GemmCall& call, const Columns& columns,
                                            std::int64_t row) {
    __m256i acc[2 * kRows];
    load_bias<kRows>(call, acc);
    const auto same = [](__m256i four) QTOOL_INLINE { return four; };
    const auto add = [](__m256i sums, __m256i bytes, __m256i weights)
                         QTOOL_INLINE { return Dot::add(sums, bytes, weights); };
    const std::int8_t* weights = call.weights;
    const std::int64_t last = call.row_bytes - kGroup;
    for (std::int64_t tap = 0; tap < call.taps; ++tap) {
      const std::uint8_t* rows[kRows];
      find_rows<kRows>(call, row, tap, rows);
      std::int64_t k = 0;
      while (true) {
        multiply<kRows>(acc, rows, k, weights, same, add);
        weights += kStep;
        if (k == last) break;
        k = k + kGroup < last ? k + kGroup : last;
      }
    }
    store_tile<kRows>(call, columns, acc, row);
  }
};

constexpr GemmLayout kDotLayout{.panel = kPanel, .group = kGroup, .max_panels = 1, .rows = kTile};

}  // namespace
}  // namespace qtool
