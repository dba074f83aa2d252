#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/wide_curve/contract.h"
#include "kernels/wide_curve/stages.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 8;

struct Registers {
  __m256 scale, offset, last, start;
  const WideCurve* curve;
};

Registers registers_of(const WideCurve& curve) {
  return {_mm256_set1_ps(curve.scale), _mm256_set1_ps(curve.offset), _mm256_set1_ps(curve.last),
          _mm256_set1_ps(curve.start), &curve};
}

// The entries of a table of 32 numbers. A permutation selects among eight numbers by the lowest
// bits of the index. The sign bits of `eights` and `sixteens` are the bits 8 and 16 of the index.
QTOOL_INLINE inline __m256 select(const float* table, __m256i index, __m256 eights,
                                  __m256 sixteens) {
  const auto of = [&](std::int64_t first) QTOOL_INLINE {
    return _mm256_permutevar8x32_ps(_mm256_load_ps(table + first), index);
  };
  return _mm256_blendv_ps(_mm256_blendv_ps(of(0), of(8), eights),
                          _mm256_blendv_ps(of(16), of(24), eights), sixteens);
}

// The high and the low bytes of eight elements, each in the lower half of a register.
struct TwoBytes {
  __m128i high;
  __m128i low;
};

QTOOL_INLINE inline __m128i pack_lanes(__m256i q) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  return _mm_packus_epi16(words, words);
}

QTOOL_INLINE inline TwoBytes bytes_of(const Registers& r, __m256 x, __m256 factor) {
  // _mm256_max_ps() gives its second operand where the first is NaN.
  const __m256 place = _mm256_fmadd_ps(x, r.scale, r.offset);
  const __m256 p = _mm256_min_ps(_mm256_max_ps(place, _mm256_setzero_ps()), r.last);
  const __m256 last_segment = _mm256_set1_ps(static_cast<float>(WideCurve::kSegments - 1));
  const __m256i s = _mm256_cvttps_epi32(_mm256_min_ps(p, last_segment));
  const __m256 t = _mm256_sub_ps(p, _mm256_cvtepi32_ps(s));
  const __m256 eights = _mm256_castsi256_ps(_mm256_slli_epi32(s, 28));
  const __m256 sixteens = _mm256_castsi256_ps(_mm256_slli_epi32(s, 27));
  __m256 y = select(r.curve->coefficients[WideCurve::kCoefficients - 1], s, eights, sixteens);
  unroll<WideCurve::kCoefficients - 1>([&](auto i) QTOOL_INLINE {
    const float* table = r.curve->coefficients[WideCurve::kCoefficients - 2 - i];
    y = _mm256_fmadd_ps(y, t, select(table, s, eights, sixteens));
  });
  const __m256 moved = _mm256_fmadd_ps(y, factor, r.start);
  const __m256 n = _mm256_min_ps(_mm256_max_ps(moved, _mm256_set1_ps(WideCurve::kLeast)),
                                 _mm256_set1_ps(WideCurve::kMost));
  const __m256i high =
      _mm256_cvttps_epi32(_mm256_mul_ps(n, _mm256_set1_ps(WideCurve::kInverseSteps)));
  const __m256i multiple = _mm256_mullo_epi16(high, _mm256_set1_epi32(WideCurve::kSteps));
  const __m256i next = _mm256_sub_epi32(_mm256_cvttps_epi32(n), _mm256_set1_epi32(-1));
  return {pack_lanes(high), pack_lanes(_mm256_sub_epi32(next, multiple))};
}

// Loads the first `count` of eight floats; the others are zero.
__m256 load_part(const float* from, std::int64_t count) {
  alignas(32) float reals[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) reals[i] = from[i];
  return _mm256_load_ps(reals);
}

class Kernel {
 public:
  explicit Kernel(const WideCurve& curve) : registers_(registers_of(curve)) {}

  template <Bytes kBytes, Factors kFactors>
  void run(const Line& line) const {
    __m256 factor = _mm256_set1_ps(1.0F);
    std::int64_t i = 0;
    for (; i + kLanes <= line.count; i += kLanes) {
      if constexpr (kFactors == Factors::kSome) factor = _mm256_loadu_ps(line.factors + i);
      const TwoBytes bytes = bytes_of(registers_, _mm256_loadu_ps(line.in + i), factor);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(line.high + i), bytes.high);
      if constexpr (kBytes == Bytes::kBoth) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(line.low + i), bytes.low);
      }
    }
    const std::int64_t rest = line.count - i;
    if (rest == 0) return;
    if constexpr (kFactors == Factors::kSome) factor = load_part(line.factors + i, rest);
    const TwoBytes bytes = bytes_of(registers_, load_part(line.in + i, rest), factor);
    store_bytes(bytes.high, rest, line.high + i);
    if constexpr (kBytes == Bytes::kBoth) store_bytes(bytes.low, rest, line.low + i);
  }

 private:
  Registers registers_;
};

}  // namespace

constexpr WideCurveFunctions wide_curve_avx2 = {run_lines<Kernel>};

}  // namespace qtool
