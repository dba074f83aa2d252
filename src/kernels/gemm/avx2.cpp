#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/gemm/contract.h"

namespace qtool {
namespace {

// vpmaddubsw saturates, so both factors are widened to 16 bits and multiplied with vpmaddwd. Each
// 32-bit lane then holds two of the four products of a group; the halves are added at the end.
constexpr unsigned kTile = 3;
constexpr GemmLayout kLayout{.rows = kTile};
constexpr std::int64_t kPanel = kLayout.panel;
constexpr std::int64_t kGroup = kLayout.group;
constexpr unsigned kParts = 4;  // registers per panel, with four channels each

struct Sums {
  alignas(32) std::int32_t value[kTile][kPanel];
};

template <unsigned kRows>
__attribute__((noinline)) void run_tile(const GemmCall& call, std::int64_t row, std::int64_t panel,
                                        Sums& sums) {
  __m256i acc[kRows * kParts];
  unroll<kRows * kParts>([&](auto i) QTOOL_INLINE { acc[i] = _mm256_setzero_si256(); });
  const std::int8_t* weights = call.weights + panel * kPanel * kGroup;
  const std::int64_t step = call.panels * kPanel * kGroup;
  const std::int64_t last = call.row_bytes - kGroup;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* rows[kRows];
    if (call.source == RowSource::kStrided) {
      unroll<kRows>([&](auto m)
                        QTOOL_INLINE { rows[m] = call.base + (row + m) * call.row_stride; });
    } else {
      const std::uint8_t* const* table = call.rows + tap * call.row_pitch + row;
      unroll<kRows>([&](auto m) QTOOL_INLINE { rows[m] = table[m] + call.row_offset; });
    }
    std::int64_t k = 0;
    while (true) {
      __m256i input[kRows];
      unroll<kRows>([&](auto m) QTOOL_INLINE {
        int four = 0;
        __builtin_memcpy(&four, rows[m] + k, 4);
        input[m] = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
      });
      unroll<kParts>([&](auto part) QTOOL_INLINE {
        const __m256i weight = _mm256_cvtepi8_epi16(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + part * 16U)));
        unroll<kRows>([&](auto m) QTOOL_INLINE {
          constexpr unsigned i = m * kParts + part;
          acc[i] = _mm256_add_epi32(acc[i], _mm256_madd_epi16(input[m], weight));
        });
      });
      weights += step;
      if (k == last) break;
      k = k + kGroup < last ? k + kGroup : last;
    }
  }
  unroll<kRows * 2>([&](auto i) QTOOL_INLINE {
    constexpr unsigned m = i / 2;
    constexpr unsigned half = i % 2;
    const __m256i pairs =
        _mm256_hadd_epi32(acc[m * kParts + 2 * half], acc[m * kParts + 2 * half + 1]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&sums.value[m][8 * half]),
                       _mm256_permute4x64_epi64(pairs, 0xD8));
  });
}

struct Columns {
  __m256i bias[2];
  __m256 multiplier[2];
  ByteRange range;
  std::int64_t channels;  // in this panel
};

Columns columns_of(const GemmCall& call, std::int64_t panel) {
  Columns columns;
  for (unsigned half = 0; half < 2; ++half) {
    const std::int64_t at = panel * kPanel + 8 * half;
    columns.bias[half] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(call.bias + at));
    columns.multiplier[half] = _mm256_loadu_ps(call.multiplier + at);
  }
  columns.range = byte_range(call.zero_point, call.low, call.high);
  const std::int64_t left = call.channels - panel * kPanel;
  columns.channels = left < kPanel ? left : kPanel;
  return columns;
}

__m256 scaled(const std::int32_t* sums, const Columns& columns, unsigned half) {
  const __m256i sum = _mm256_add_epi32(
      _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + 8 * half)), columns.bias[half]);
  return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), columns.multiplier[half]);
}

// The values that a residual adds to 16 channels of a row.
struct Addends {
  __m256 half[2];
};

Addends addends_of(const GemmCall& call, const Columns& columns, std::int64_t row,
                   std::int64_t panel) {
  const __m128i bytes =
      load_bytes(call.residual + row * call.residual_stride + panel * kPanel, columns.channels);
  const __m256i zero = _mm256_set1_epi32(call.residual_zero);
  const __m256 multiplier = _mm256_set1_ps(call.residual_multiplier);
  const auto real = [&](__m128i eight) {
    const __m256i centred = _mm256_sub_epi32(_mm256_cvtepu8_epi32(eight), zero);
    return _mm256_mul_ps(_mm256_cvtepi32_ps(centred), multiplier);
  };
  return {{real(bytes), real(_mm_srli_si128(bytes, 8))}};
}

void store_floats(const float* addend, const Columns& columns, const std::int32_t* sums,
                  float* out) {
  alignas(32) float part[kPanel];
  for (unsigned half = 0; half < 2; ++half) {
    const __m256 real =
        _mm256_add_ps(scaled(sums, columns, half), _mm256_loadu_ps(addend + 8 * half));
    _mm256_store_ps(part + 8 * half, real);
  }
  for (std::int64_t c = 0; c < columns.channels; ++c) out[c] = part[c];
}

void store_sums(const Columns& columns, const std::int32_t* sums, std::int32_t* out) {
  alignas(32) std::int32_t part[kPanel];
  for (unsigned half = 0; half < 2; ++half) {
    const __m256i sum = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + 8 * half));
    _mm256_store_si256(reinterpret_cast<__m256i*>(part + 8 * half),
                       _mm256_add_epi32(sum, columns.bias[half]));
  }
  for (std::int64_t c = 0; c < columns.channels; ++c) out[c] = part[c];
}

template <unsigned kRows>
void run_rows(const GemmCall& call, const Columns& columns, std::int64_t row, std::int64_t panel) {
  Sums sums;
  run_tile<kRows>(call, row, panel, sums);
  for (unsigned m = 0; m < kRows; ++m) {
    const std::int64_t at = (row + m) * call.output_stride + panel * kPanel;
    if (call.output_type == OutputType::kFloat32) {
      auto* out = static_cast<float*>(call.output) + at;
      if (call.onto == nullptr) {
        store_floats(call.addend + panel * kPanel, columns, sums.value[m], out);
      } else {
        const float* base = call.onto + (row + m) * call.onto_stride + panel * kPanel;
        alignas(32) float part[kPanel] = {};  // a copy: no read beyond the last channel
        for (std::int64_t c = 0; c < columns.channels; ++c) part[c] = base[c];
        store_floats(part, columns, sums.value[m], out);
      }
    } else if (call.output_type == OutputType::kInt32) {
      store_sums(columns, sums.value[m], static_cast<std::int32_t*>(call.output) + at);
    } else {
      __m256 first = scaled(sums.value[m], columns, 0);
      __m256 second = scaled(sums.value[m], columns, 1);
      if (call.residual != nullptr) {
        const Addends addends = addends_of(call, columns, row + m, panel);
        first = _mm256_add_ps(first, addends.half[0]);
        second = _mm256_add_ps(second, addends.half[1]);
      }
      store_bytes(pack_bytes(first, second, columns.range), columns.channels,
                  static_cast<std::uint8_t*>(call.output) + at);
    }
  }
}

void run(const GemmCall& call) {
  for (std::int64_t panel = 0; panel < call.panels; ++panel) {
    const Columns columns = columns_of(call, panel);
    std::int64_t row = 0;
    for (; row + kTile <= call.row_count; row += kTile) run_rows<kTile>(call, columns, row, panel);
    for (; row < call.row_count; ++row) run_rows<1>(call, columns, row, panel);
  }
}

}  // namespace

constexpr GemmFunctions gemm_avx2 = {run, kLayout};

}  // namespace qtool
