#include <cstddef>
#include <cstdint>

#include "base/round_up.h"
#include "kernels/depthwise/contract.h"
#include "kernels/epilogue_avx2.h"

namespace qtool {
namespace {

// A float holds every integer up to 2^24 exactly, so 514 products of bytes can be summed with fused
// multiply-adds: 514 * 255 * 128 <= 2^24. The sums of more taps are added as integers.
//
// Sixteen channels (a group) are computed at a time. The input rows of a window are converted to
// floats in a scratch buffer, a ring of rows, so that each input byte is converted once and not
// once per tap.
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kHeaderBytes = kDepthwiseBlock * 12;  // bias, multiplier, factor
constexpr std::int64_t kScratchColumns = 512;                // of 16 floats: 32 KB
constexpr std::int64_t kMaxRows = 32;                        // of the ring
constexpr std::int64_t kExactTaps = 514;
constexpr unsigned kTile = 6;  // output columns that are computed together

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

std::int64_t block_bytes(std::int64_t kernel_h, std::int64_t kernel_w) {
  return kHeaderBytes + kernel_h * kernel_w * kDepthwiseBlock * 4;
}

std::int64_t packed_bytes(const DepthwiseWeights& weights) {
  return ceil_div(weights.channels, kDepthwiseBlock) *
         block_bytes(weights.kernel_h, weights.kernel_w);
}

// A filter value, which is the sum of its terms.
float weight_of(const DepthwiseWeights& weights, std::int64_t tap, std::int64_t channel) {
  const std::int64_t taps = weights.kernel_h * weights.kernel_w;
  std::int32_t sum = 0;
  for (std::int64_t term = 0; term < weights.terms; ++term) {
    sum += weights.values[(term * taps + tap) * weights.channels + channel];
  }
  return static_cast<float>(sum);
}

// A block: bias, multiplier, factor, then the filters: [group][kernel_h][kernel_w][channel of the
// group].
void pack(const DepthwiseWeights& weights, std::byte* packed) {
  const std::int64_t taps = weights.kernel_h * weights.kernel_w;
  for (std::int64_t begin = 0; begin < weights.channels; begin += kDepthwiseBlock) {
    const std::int64_t count = smaller(kDepthwiseBlock, weights.channels - begin);
    auto* bias = reinterpret_cast<std::int32_t*>(packed);
    auto* multiplier = reinterpret_cast<float*>(packed + kDepthwiseBlock * 4);
    auto* factors = reinterpret_cast<CurveFactor*>(packed + kDepthwiseBlock * 8);
    auto* filters = reinterpret_cast<float*>(packed + kHeaderBytes);
    for (std::int64_t c = 0; c < kDepthwiseBlock; ++c) {
      bias[c] = c < count ? weights.bias[begin + c] : 0;
      multiplier[c] = c < count ? weights.multiplier[begin + c] : 0.0F;
      const bool has_factor = c < count && weights.factors != nullptr;
      factors[c] = has_factor ? weights.factors[begin + c] : CurveFactor();
      float* filter = filters + c / kGroup * taps * kGroup + c % kGroup;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        filter[tap * kGroup] = c < count ? weight_of(weights, tap, begin + c) : 0.0F;
      }
    }
    packed += block_bytes(weights.kernel_h, weights.kernel_w);
  }
}

// Sixteen channels of a call, and the values that stay the same while they are computed.
struct Group {
  const DepthwiseCall& call;
  std::int64_t channel;  // first
  std::int64_t count;    // 1 to 16
  const std::int32_t* bias;
  const float* multiplier;
  const float* filters;
  std::int64_t rows_at_once;  // kernel rows whose products are summed exactly in floats
  std::int64_t ring;          // rows of the ring
  std::int64_t chunk;         // output columns that are computed from one filling of the ring
  std::int64_t pitch;         // columns of a row of the ring
  CurveVectors curve;         // only for bytes of a curve
};

Group group_of(const DepthwiseCall& call, std::int64_t in_block) {
  const std::byte* header = call.packed + call.block * block_bytes(call.kernel_h, call.kernel_w);
  const std::int64_t channel = call.block * kDepthwiseBlock + in_block;
  const std::int64_t taps = call.kernel_h * call.kernel_w;
  Group group{call,
              channel,
              smaller(kGroup, call.channels - channel),
              reinterpret_cast<const std::int32_t*>(header) + in_block,
              reinterpret_cast<const float*>(header + kDepthwiseBlock * 4) + in_block,
              reinterpret_cast<const float*>(header + kHeaderBytes) + in_block * taps,
              kExactTaps / (call.terms * call.kernel_w),
              (call.kernel_h - 1) * call.dilation_h + 1,
              0,
              0,
              {}};
  if (call.curve != nullptr) {
    const auto* factors = reinterpret_cast<const CurveFactor*>(header + kDepthwiseBlock * 8);
    group.curve = curve_vectors(*call.curve, factors + in_block);
  }
  // One more row holds what is above and below the image. The chunk stays 0 where the window is too
  // large for the scratch.
  const std::int64_t window = (call.kernel_w - 1) * call.dilation_w + 1;
  group.pitch = kScratchColumns / (group.ring + 1);
  if (group.ring <= kMaxRows && window <= group.pitch && group.rows_at_once > 0) {
    group.chunk = smaller(call.out_w, (group.pitch - window) / call.stride_w + 1);
  }
  return group;
}

void store_floats(const Group& group, const __m256i* sums, std::int64_t pixel) {
  alignas(32) float product[kGroup];
  for (unsigned half = 0; half < 2; ++half) {
    _mm256_store_ps(product + 8 * half,
                    scale(sums[half], _mm256_loadu_ps(group.multiplier + 8 * half)));
  }
  const DepthwiseCall& call = group.call;
  float* out = static_cast<float*>(call.output) + pixel * call.out_pixel_stride + group.channel;
  const float* addend =
      (call.onto == nullptr ? call.addend : call.onto + pixel * call.onto_stride) + group.channel;
  if (group.count == kGroup) {
    for (unsigned half = 0; half < 16; half += 8) {
      _mm256_storeu_ps(out + half, _mm256_add_ps(_mm256_load_ps(product + half),
                                                 _mm256_loadu_ps(addend + half)));
    }
    return;
  }
  for (std::int64_t c = 0; c < group.count; ++c) out[c] = product[c] + addend[c];
}

void store_sums(const Group& group, const __m256i* sums, std::int64_t pixel) {
  alignas(32) std::int32_t part[kGroup];
  _mm256_store_si256(reinterpret_cast<__m256i*>(part), sums[0]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(part + 8), sums[1]);
  std::int32_t* out = static_cast<std::int32_t*>(group.call.output) +
                      pixel * group.call.out_pixel_stride + group.channel;
  for (std::int64_t c = 0; c < group.count; ++c) out[c] = part[c];
}

// Stores the bytes of a curve.
void store_curve(const Group& group, const __m256i* sums, unsigned columns, std::int64_t pixel) {
  const DepthwiseCall& call = group.call;
  const __m256 multiplier[] = {_mm256_loadu_ps(group.multiplier),
                               _mm256_loadu_ps(group.multiplier + 8)};
  auto* out =
      static_cast<std::uint8_t*>(call.output) + pixel * call.out_pixel_stride + group.channel;
  store_on_curve(group.curve, multiplier, sums, columns, group.count, out, call.out_pixel_stride);
}

// The rarer epilogues: floats, sums and bytes of a curve.
__attribute__((noinline)) void store_rarely(const Group& group, const __m256i* sums,
                                            unsigned columns, std::int64_t pixel) {
  if (group.call.curve != nullptr) return store_curve(group, sums, columns, pixel);
  for (unsigned n = 0; n < columns; ++n, sums += 2, ++pixel) {
    if (group.call.output_type == OutputType::kFloat32) {
      store_floats(group, sums, pixel);
    } else {
      store_sums(group, sums, pixel);
    }
  }
}

// Stores the results of kColumns neighbouring output pixels, from `pixel` on.
template <unsigned kColumns>
QTOOL_INLINE inline void store(const Group& group, const __m256i* acc, std::int64_t pixel) {
  const DepthwiseCall& call = group.call;
  if (call.output_type != OutputType::kUInt8 || call.curve != nullptr) {
    __m256i sums[2 * kColumns];
    unroll<2 * kColumns>([&](auto n) QTOOL_INLINE { sums[n] = acc[n]; });
    store_rarely(group, sums, kColumns, pixel);
    return;
  }
  const ByteRange range = byte_range(call.zero_point, call.low, call.high);
  const __m256 multiplier[] = {_mm256_loadu_ps(group.multiplier),
                               _mm256_loadu_ps(group.multiplier + 8)};
  __m256 products[2 * kColumns];
  unroll<2 * kColumns>([&](auto n)
                           QTOOL_INLINE { products[n] = scale(acc[n], multiplier[n % 2]); });
  auto* out =
      static_cast<std::uint8_t*>(call.output) + pixel * call.out_pixel_stride + group.channel;
  store_rows<kColumns>(products, packs_into(range), group.count, out, call.out_pixel_stride);
}

QTOOL_INLINE inline void load_bias(const Group& group, __m256i* sums) {
  sums[0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group.bias));
  sums[1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group.bias + 8));
}

QTOOL_INLINE inline __m256 to_floats(__m128i bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

// Computes kColumns neighbouring output pixels, from pixel `at` on. rows[i] is the first input
// column of the first pixel's window in kernel row i.
template <unsigned kColumns>
__attribute__((noinline)) void compute(const Group& group, const float* const* rows,
                                       std::int64_t offset, std::int64_t at) {
  const DepthwiseCall& call = group.call;
  const std::int64_t stride = call.stride_w * kGroup;
  const std::int64_t dilation = call.dilation_w * kGroup;
  __m256i sums[2 * kColumns];
  unroll<kColumns>([&](auto n) QTOOL_INLINE { load_bias(group, sums + 2 * n); });
  const float* weights = group.filters;
  for (std::int64_t i = 0; i < call.kernel_h;) {
    __m256 acc[2 * kColumns];
    unroll<2 * kColumns>([&](auto n) QTOOL_INLINE { acc[n] = _mm256_setzero_ps(); });
    const std::int64_t end = smaller(call.kernel_h, i + group.rows_at_once);
    for (; i < end; ++i) {
      const float* from = rows[i] + offset;
      for (std::int64_t j = 0; j < call.kernel_w; ++j, from += dilation, weights += kGroup) {
        const __m256 low = _mm256_loadu_ps(weights);
        const __m256 high = _mm256_loadu_ps(weights + 8);
        const float* column = from;
        unroll<kColumns>([&](auto n) QTOOL_INLINE {
          acc[2 * n] = _mm256_fmadd_ps(_mm256_loadu_ps(column), low, acc[2 * n]);
          acc[2 * n + 1] = _mm256_fmadd_ps(_mm256_loadu_ps(column + 8), high, acc[2 * n + 1]);
          column += stride;
        });
      }
    }
    unroll<2 * kColumns>([&](auto n) QTOOL_INLINE {
      sums[n] = _mm256_add_epi32(sums[n], _mm256_cvtps_epi32(acc[n]));
    });
  }
  store<kColumns>(group, sums, at);
}

// Fills `columns` columns with the value outside the image; returns the end of them.
float* fill_outside(const Group& group, std::int64_t columns, float* to) {
  const __m256 zero = _mm256_set1_ps(static_cast<float>(group.call.zero_pixel[0]));
  for (; columns > 0; --columns, to += kGroup) {
    _mm256_storeu_ps(to, zero);
    _mm256_storeu_ps(to + 8, zero);
  }
  return to;
}

// Converts the columns of an input row from column `x` on.
__attribute__((noinline)) void convert(const Group& group, const std::uint8_t* row, std::int64_t x,
                                       std::int64_t columns, float* to) {
  const DepthwiseCall& call = group.call;
  const std::int64_t before = x < 0 ? smaller(-x, columns) : 0;
  const std::int64_t end = smaller(x + columns, call.in_w);
  to = fill_outside(group, before, to);
  const std::uint8_t* from = row + (x + before) * call.in_pixel_stride;
  for (std::int64_t n = x + before; n < end; ++n, to += kGroup, from += call.in_pixel_stride) {
    const __m128i bytes = load_bytes(from, group.count);
    _mm256_storeu_ps(to, to_floats(bytes));
    _mm256_storeu_ps(to + 8, to_floats(_mm_srli_si128(bytes, 8)));
  }
  const std::int64_t inside = end > x + before ? end - x - before : 0;
  fill_outside(group, columns - before - inside, to);
}

// The group's first channel in an input row; null outside the image.
const std::uint8_t* input_row(const Group& group, std::int64_t y) {
  const DepthwiseCall& call = group.call;
  if (y < 0 || y >= call.in_h) return nullptr;
  return call.input + y * call.in_w * call.in_pixel_stride + group.channel;
}

// Computes output columns [first, first + count) of all rows. `scratch` holds the rows of the ring,
// and the row outside the image behind them.
void run_chunk(const Group& group, std::int64_t first, std::int64_t count, float* scratch) {
  const DepthwiseCall& call = group.call;
  const std::int64_t x = first * call.stride_w - call.pad_left;
  const std::int64_t columns =
      (count - 1) * call.stride_w + (call.kernel_w - 1) * call.dilation_w + 1;
  float* outside = scratch + group.ring * group.pitch * kGroup;
  fill_outside(group, columns, outside);
  std::int64_t held[kMaxRows];  // the input row that is in each row of the ring
  for (std::int64_t r = 0; r < group.ring; ++r) held[r] = -1;
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    const float* rows[kMaxRows];
    for (std::int64_t i = 0; i < call.kernel_h; ++i) {
      const std::int64_t in_y = y * call.stride_h - call.pad_top + i * call.dilation_h;
      const std::uint8_t* row = input_row(group, in_y);
      float* to = row == nullptr ? outside : scratch + in_y % group.ring * group.pitch * kGroup;
      if (row != nullptr && held[in_y % group.ring] != in_y) {
        held[in_y % group.ring] = in_y;
        convert(group, row, x, columns, to);
      }
      rows[i] = to;
    }
    const std::int64_t at = y * call.out_w + first;
    const std::int64_t step = call.stride_w * kGroup;
    std::int64_t n = 0;
    for (; n + kTile <= count; n += kTile) compute<kTile>(group, rows, n * step, at + n);
    for (; n + 2 <= count; n += 2) compute<2>(group, rows, n * step, at + n);
    if (n < count) compute<1>(group, rows, n * step, at + n);
  }
}

// For windows that are too large for the scratch: converts every tap by itself.
void run_directly(const Group& group) {
  const DepthwiseCall& call = group.call;
  const __m256i zero = _mm256_set1_epi32(call.zero_pixel[0]);
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    for (std::int64_t out_x = 0; out_x < call.out_w; ++out_x) {
      __m256i sums[2];
      load_bias(group, sums);
      const float* weights = group.filters;
      for (std::int64_t i = 0; i < call.kernel_h; ++i) {
        const std::uint8_t* row =
            input_row(group, y * call.stride_h - call.pad_top + i * call.dilation_h);
        for (std::int64_t j = 0; j < call.kernel_w; ++j, weights += kGroup) {
          const std::int64_t x = out_x * call.stride_w - call.pad_left + j * call.dilation_w;
          const bool inside = row != nullptr && x >= 0 && x < call.in_w;
          const __m128i bytes = inside ? load_bytes(row + x * call.in_pixel_stride, group.count)
                                       : _mm_setzero_si128();
          const __m256i low = inside ? _mm256_cvtepu8_epi32(bytes) : zero;
          const __m256i high = inside ? _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)) : zero;
          const __m256i low_weights = _mm256_cvtps_epi32(_mm256_loadu_ps(weights));
          const __m256i high_weights = _mm256_cvtps_epi32(_mm256_loadu_ps(weights + 8));
          sums[0] = _mm256_add_epi32(sums[0], _mm256_mullo_epi32(low, low_weights));
          sums[1] = _mm256_add_epi32(sums[1], _mm256_mullo_epi32(high, high_weights));
        }
      }
      store<1>(group, sums, y * call.out_w + out_x);
    }
  }
}

void run(const DepthwiseCall& call) {
  alignas(32) float scratch[kScratchColumns * kGroup];
  const std::int64_t channels =
      smaller(kDepthwiseBlock, call.channels - call.block * kDepthwiseBlock);
  for (std::int64_t c = 0; c < channels; c += kGroup) {
    const Group group = group_of(call, c);
    if (group.chunk == 0) {
      run_directly(group);
      continue;
    }
    for (std::int64_t first = 0; first < call.out_w; first += group.chunk) {
      run_chunk(group, first, smaller(group.chunk, call.out_w - first), scratch);
    }
  }
}

}  // namespace

constexpr DepthwiseFunctions depthwise_avx2 = {packed_bytes, pack, run, 1};

}  // namespace qtool
