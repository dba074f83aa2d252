#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/unroll.h"
#include "kernels/wide_curve/contract.h"
#include "kernels/wide_curve/stages.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr unsigned kCoefficients = WideCurve::kCoefficients;

struct Registers {
  __m512 scale, offset, last, start;
  __m512 first_half[kCoefficients];  // of the segments
  __m512 second_half[kCoefficients];
};

Registers registers_of(const WideCurve& curve) {
  Registers r;
  r.scale = _mm512_set1_ps(curve.scale);
  r.offset = _mm512_set1_ps(curve.offset);
  r.last = _mm512_set1_ps(curve.last);
  r.start = _mm512_set1_ps(curve.start);
  for (unsigned i = 0; i < kCoefficients; ++i) {
    r.first_half[i] = _mm512_load_ps(curve.coefficients[i]);
    r.second_half[i] = _mm512_load_ps(curve.coefficients[i] + kLanes);
  }
  return r;
}

struct TwoBytes {
  __m128i high;
  __m128i low;
};

QTOOL_INLINE inline TwoBytes bytes_of(const Registers& r, __m512 x, __m512 factor) {
  // _mm512_max_ps() gives its second operand where the first is NaN.
  const __m512 place = _mm512_fmadd_ps(x, r.scale, r.offset);
  const __m512 p = _mm512_min_ps(_mm512_max_ps(place, _mm512_setzero_ps()), r.last);
  const __m512 last_segment = _mm512_set1_ps(static_cast<float>(WideCurve::kSegments - 1));
  const __m512i s = _mm512_cvttps_epi32(_mm512_min_ps(p, last_segment));
  const __m512 t = _mm512_sub_ps(p, _mm512_cvtepi32_ps(s));
  const auto coefficient = [&](unsigned i) QTOOL_INLINE {
    return _mm512_permutex2var_ps(r.first_half[i], s, r.second_half[i]);
  };
  __m512 y = coefficient(kCoefficients - 1);
  unroll<kCoefficients - 1>(
      [&](auto i) QTOOL_INLINE { y = _mm512_fmadd_ps(y, t, coefficient(kCoefficients - 2 - i)); });
  const __m512 moved = _mm512_fmadd_ps(y, factor, r.start);
  const __m512 n = _mm512_min_ps(_mm512_max_ps(moved, _mm512_set1_ps(WideCurve::kLeast)),
                                 _mm512_set1_ps(WideCurve::kMost));
  const __m512i high =
      _mm512_cvttps_epi32(_mm512_mul_ps(n, _mm512_set1_ps(WideCurve::kInverseSteps)));
  // A byte keeps the remainder of 256, in which -kSteps is 2.
  static_assert(WideCurve::kSteps == 254);
  const __m512i next = _mm512_sub_epi32(_mm512_cvttps_epi32(n), _mm512_set1_epi32(-1));
  const __m512i low = _mm512_add_epi32(next, _mm512_add_epi32(high, high));
  return {_mm512_cvtepi32_epi8(high), _mm512_cvtepi32_epi8(low)};
}

class Kernel {
 public:
  explicit Kernel(const WideCurve& curve) : registers_(registers_of(curve)) {}

  template <Bytes kBytes, Factors kFactors>
  void run(const Line& line) const {
    __m512 factor = _mm512_set1_ps(1.0F);
    std::int64_t i = 0;
    for (; i + kLanes <= line.count; i += kLanes) {
      if constexpr (kFactors == Factors::kSome) factor = _mm512_loadu_ps(line.factors + i);
      const TwoBytes bytes = bytes_of(registers_, _mm512_loadu_ps(line.in + i), factor);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(line.high + i), bytes.high);
      if constexpr (kBytes == Bytes::kBoth) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(line.low + i), bytes.low);
      }
    }
    if (i == line.count) return;
    const auto mask = static_cast<__mmask16>((1U << (line.count - i)) - 1U);
    if constexpr (kFactors == Factors::kSome) {
      factor = _mm512_maskz_loadu_ps(mask, line.factors + i);
    }
    const TwoBytes bytes = bytes_of(registers_, _mm512_maskz_loadu_ps(mask, line.in + i), factor);
    _mm_mask_storeu_epi8(line.high + i, mask, bytes.high);
    if constexpr (kBytes == Bytes::kBoth) _mm_mask_storeu_epi8(line.low + i, mask, bytes.low);
  }

 private:
  Registers registers_;
};

}  // namespace

constexpr WideCurveFunctions wide_curve_avx512vnni = {run_lines<Kernel>};

}  // namespace qtool
