#include <cstddef>
#include <cstdint>

#include "base/round_up.h"
#include "kernels/depthwise/contract.h"
#include "kernels/epilogue_avx2.h"

namespace qtool {
namespace {

// vpmaddubsw saturates, so two taps of a channel are interleaved, widened to 16 bits and multiplied
// with vpmaddwd. Channels are processed in groups of 16.
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kHeaderBytes = kDepthwiseBlock * 8;  // bias and multiplier of 64 channels
constexpr std::int64_t kPairBytes = kDepthwiseBlock * 4;    // two 16-bit weights per channel
constexpr std::int64_t kMaxTaps = 128;  // taps whose addresses are kept at a time

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

std::int64_t block_bytes(std::int64_t taps) {
  return kHeaderBytes + ceil_div(taps, 2) * kPairBytes;
}

std::int64_t packed_bytes(const DepthwiseWeights& weights) {
  return ceil_div(weights.channels, kDepthwiseBlock) *
         block_bytes(weights.terms * weights.kernel_h * weights.kernel_w);
}

void pack(const DepthwiseWeights& weights, std::byte* packed) {
  const std::int64_t taps = weights.terms * weights.kernel_h * weights.kernel_w;
  for (std::int64_t begin = 0; begin < weights.channels; begin += kDepthwiseBlock) {
    const std::int64_t count = smaller(kDepthwiseBlock, weights.channels - begin);
    auto* bias = reinterpret_cast<std::int32_t*>(packed);
    auto* multiplier = reinterpret_cast<float*>(packed + kDepthwiseBlock * 4);
    auto* pairs = reinterpret_cast<std::int16_t*>(packed + kHeaderBytes);
    for (std::int64_t c = 0; c < kDepthwiseBlock; ++c) {
      bias[c] = c < count ? weights.bias[begin + c] : 0;
      multiplier[c] = c < count ? weights.multiplier[begin + c] : 0.0F;
    }
    for (std::int64_t pair = 0; pair < ceil_div(taps, 2); ++pair) {
      for (std::int64_t c = 0; c < kDepthwiseBlock; ++c) {
        for (std::int64_t tap = 2 * pair; tap < 2 * pair + 2; ++tap, ++pairs) {
          const bool real = c < count && tap < taps;
          *pairs = real ? weights.values[tap * weights.channels + begin + c] : std::int8_t{0};
        }
      }
    }
    packed += block_bytes(taps);
  }
}

// A kernel position. next() steps through the positions of one term after another.
struct Tap {
  std::int64_t i = 0;
  std::int64_t j = 0;
};

Tap next(const DepthwiseCall& call, Tap tap) {
  if (++tap.j == call.kernel_w) {
    tap.j = 0;
    if (++tap.i == call.kernel_h) tap.i = 0;
  }
  return tap;
}

// Finds the addresses of `count` taps of one output pixel, from `tap` on, and adds a zero pixel if
// `count` is odd. Returns the tap after these.
Tap find_taps(const DepthwiseCall& call, std::int64_t y, std::int64_t x, Tap tap,
              std::int64_t count, const std::uint8_t** to) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t in_y = y * call.stride_h - call.pad_top + tap.i * call.dilation_h;
    const std::int64_t in_x = x * call.stride_w - call.pad_left + tap.j * call.dilation_w;
    const bool inside = in_y >= 0 && in_y < call.in_h && in_x >= 0 && in_x < call.in_w;
    to[t] = inside ? call.input + (in_y * call.in_w + in_x) * call.in_pixel_stride +
                         call.block * kDepthwiseBlock
                   : call.zero_pixel;
    tap = next(call, tap);
  }
  if (count % 2 != 0) to[count] = call.zero_pixel;
  return tap;
}

// Adds the taps of 16 channels from `first` on to `sums`.
void accumulate(const std::uint8_t* const* taps, std::int64_t pairs, const std::int16_t* weights,
                std::int64_t first, std::int64_t count, std::int32_t* sums) {
  auto* low_sums = reinterpret_cast<__m256i*>(sums + first);
  auto* high_sums = reinterpret_cast<__m256i*>(sums + first + 8);
  __m256i low = _mm256_load_si256(low_sums);
  __m256i high = _mm256_load_si256(high_sums);
  weights += first * 2;
  for (std::int64_t pair = 0; pair < pairs; ++pair, weights += kDepthwiseBlock * 2) {
    const __m128i even = load_bytes(taps[2 * pair] + first, count - first);
    const __m128i odd = load_bytes(taps[2 * pair + 1] + first, count - first);
    const __m256i low_pair = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(even, odd));
    const __m256i high_pair = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(even, odd));
    const auto* weight = reinterpret_cast<const __m256i*>(weights);
    low = _mm256_add_epi32(low, _mm256_madd_epi16(low_pair, _mm256_loadu_si256(weight)));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(high_pair, _mm256_loadu_si256(weight + 1)));
  }
  _mm256_store_si256(low_sums, low);
  _mm256_store_si256(high_sums, high);
}

__m256 scaled(const std::int32_t* sums, const float* multiplier) {
  const __m256i sum = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(multiplier));
}

void store_floats(const std::int32_t* sums, const float* multiplier, const float* addend,
                  std::int64_t count, float* out) {
  alignas(32) float product[kGroup];
  _mm256_store_ps(product, scaled(sums, multiplier));
  _mm256_store_ps(product + 8, scaled(sums + 8, multiplier + 8));
  for (std::int64_t c = 0; c < smaller(count, kGroup); ++c) out[c] = product[c] + addend[c];
}

void store(const DepthwiseCall& call, const std::byte* header, const std::int32_t* sums,
           std::int64_t count, std::int64_t at) {
  const auto* multiplier = reinterpret_cast<const float*>(header + kDepthwiseBlock * 4);
  const ByteRange range = byte_range(call.zero_point, call.low, call.high);
  for (std::int64_t c = 0; c < count; c += kGroup) {
    if (call.output_type == OutputType::kFloat32) {
      store_floats(sums + c, multiplier + c, call.addend + call.block * kDepthwiseBlock + c,
                   count - c, static_cast<float*>(call.output) + at + c);
    } else if (call.output_type == OutputType::kInt32) {
      auto* out = static_cast<std::int32_t*>(call.output) + at + c;
      for (std::int64_t i = 0; i < smaller(count - c, kGroup); ++i) out[i] = sums[c + i];
    } else {
      const __m256 first = scaled(sums + c, multiplier + c);
      const __m256 second = scaled(sums + c + 8, multiplier + c + 8);
      store_bytes(pack_bytes(first, second, range), count - c,
                  static_cast<std::uint8_t*>(call.output) + at + c);
    }
  }
}

void run(const DepthwiseCall& call) {
  const std::int64_t taps = call.terms * call.kernel_h * call.kernel_w;
  const std::byte* header = call.packed + call.block * block_bytes(taps);
  const auto* bias = reinterpret_cast<const std::int32_t*>(header);
  const std::int64_t begin = call.block * kDepthwiseBlock;
  const std::int64_t count = smaller(kDepthwiseBlock, call.channels - begin);
  // Neighbouring output columns whose windows do not cross the left or right border have the same
  // taps, shifted by `step` bytes.
  const std::int64_t last_column =
      call.in_w - 1 - (call.kernel_w - 1) * call.dilation_w + call.pad_left;
  const std::int64_t step = call.stride_w * call.in_pixel_stride;
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    const std::uint8_t* found[kMaxTaps];
    bool follows = false;
    for (std::int64_t x = 0; x < call.out_w; ++x) {
      alignas(32) std::int32_t sums[kDepthwiseBlock];
      for (std::int64_t c = 0; c < kDepthwiseBlock; ++c) sums[c] = bias[c];
      const bool inside = x * call.stride_w >= call.pad_left && x * call.stride_w <= last_column;
      const auto* weights = reinterpret_cast<const std::int16_t*>(header + kHeaderBytes);
      Tap tap;
      for (std::int64_t t = 0; t < taps; t += kMaxTaps) {
        const std::int64_t some = smaller(kMaxTaps, taps - t);
        if (follows && inside && taps <= kMaxTaps) {
          for (std::int64_t n = 0; n < taps; ++n) {
            if (found[n] != call.zero_pixel) found[n] += step;
          }
        } else {
          tap = find_taps(call, y, x, tap, some, found);
        }
        const std::int64_t pairs = ceil_div(some, 2);
        for (std::int64_t c = 0; c < count; c += kGroup) {
          accumulate(found, pairs, weights, c, count, sums);
        }
        weights += pairs * kDepthwiseBlock * 2;
      }
      follows = inside;
      store(call, header, sums, count, (y * call.out_w + x) * call.out_pixel_stride + begin);
    }
  }
}

}  // namespace

constexpr DepthwiseFunctions depthwise_avx2 = {packed_bytes, pack, run, 1};

}  // namespace qtool
