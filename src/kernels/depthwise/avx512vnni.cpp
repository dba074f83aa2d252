#include <cstddef>
#include <cstdint>

#include "kernels/depthwise/contract.h"
#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

namespace qtool {
namespace {

// vpdpbusd adds four products per 32-bit lane, so four input rows of one column are interleaved:
// a lane holds four rows ("a quad") of one channel. An interleaved column serves every output
// column that its kernel column falls on, and with stride 1 two output rows: the weights are packed
// for both, the second row's shifted down by one. The interleaved columns of a chunk of output
// columns lie in a scratch buffer in the L1 cache.
//
// A register holds 64 channels of one column, or, for the last channels of an image, 32 of two or
// 16 of four neighbouring output columns: kLanes counts the 128-bit lanes of a column. Byte and
// word unpacking leave register q with channels 4 q to 4 q + 3 of each lane.
constexpr std::int64_t kScratchBytes = 48 << 10;
constexpr std::int64_t kChunkBytes = 20 << 10;  // leaves room for weights and rows in the L1
constexpr std::int64_t kVector = 64;
constexpr std::int64_t kHeaderBytes = 8 * kVector;  // bias and multiplier of 64 channels
constexpr std::int64_t kStepBytes = 8 * kVector;    // weights of a quad for two output rows
constexpr std::int64_t kMostQuads = 16;
constexpr std::int64_t kMostSteps = 256;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Quads that hold the input rows of two output rows.
std::int64_t quads_of(std::int64_t kernel_h) { return ceil_div(kernel_h + 1, 4); }

std::int64_t block_bytes(std::int64_t layers, std::int64_t kernel_h, std::int64_t kernel_w) {
  return kHeaderBytes + layers * kernel_w * quads_of(kernel_h) * kStepBytes;
}

std::int64_t lanes_of(std::int64_t channels) {
  if (channels <= 16) return 1;
  return channels <= 32 ? 2 : 4;
}

std::int64_t packed_bytes(const DepthwiseWeights& weights) {
  return ceil_div(weights.channels, kDepthwiseBlock) *
         block_bytes(weights.layers, weights.kernel_h, weights.kernel_w);
}

// The channel of a block that 32-bit lane `lane` of register q stands for.
std::int64_t channel_of(std::int64_t q, std::int64_t lane, std::int64_t lanes) {
  return lane / 4 % lanes * 16 + 4 * q + lane % 4;
}

void pack_header(const DepthwiseWeights& weights, std::int64_t begin, std::int64_t count,
                 std::byte* packed) {
  auto* bias = reinterpret_cast<std::int32_t*>(packed);
  auto* multiplier = reinterpret_cast<float*>(packed + 4 * kVector);
  for (std::int64_t at = 0; at < kDepthwiseBlock; ++at) {
    const std::int64_t channel = channel_of(at / 16, at % 16, lanes_of(count));
    bias[at] = channel < count ? weights.bias[begin + channel] : 0;
    multiplier[at] = channel < count ? weights.multiplier[begin + channel] : 0.0F;
  }
}

// One step: kernel column j of a layer, quad `quad`: for both output rows four registers.
void pack_step(const DepthwiseWeights& weights, std::int64_t begin, std::int64_t count,
               std::int64_t layer, std::int64_t j, std::int64_t quad, std::int8_t* packed) {
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t at = 0; at < kDepthwiseBlock; ++at) {
      const std::int64_t channel = channel_of(at / 16, at % 16, lanes_of(count));
      for (std::int64_t byte = 0; byte < 4; ++byte, ++packed) {
        const std::int64_t i = quad * 4 + byte - row;
        const bool real = channel < count && i >= 0 && i < weights.kernel_h;
        const std::int64_t tap = (layer * weights.kernel_h + i) * weights.kernel_w + j;
        *packed = real ? weights.values[tap * weights.channels + begin + channel] : std::int8_t{0};
      }
    }
  }
}

void pack(const DepthwiseWeights& weights, std::byte* packed) {
  for (std::int64_t begin = 0; begin < weights.channels; begin += kDepthwiseBlock) {
    const std::int64_t count = smaller(kDepthwiseBlock, weights.channels - begin);
    pack_header(weights, begin, count, packed);
    packed += kHeaderBytes;
    for (std::int64_t layer = 0; layer < weights.layers; ++layer) {
      for (std::int64_t j = 0; j < weights.kernel_w; ++j) {
        for (std::int64_t quad = 0; quad < quads_of(weights.kernel_h); ++quad) {
          pack_step(weights, begin, count, layer, j, quad, reinterpret_cast<std::int8_t*>(packed));
          packed += kStepBytes;
        }
      }
    }
  }
}

// What stays the same during a call.
struct Plan {
  const DepthwiseCall& call;
  std::int64_t channels;  // of this block
  std::int64_t lanes;     // per column
  std::int64_t columns;   // output columns per register
  std::int64_t quads;
  std::int64_t chunk;  // output columns that are computed from one filling of the scratch
  std::int64_t plane;  // columns of the scratch per residue modulo stride_w
  std::int64_t pitch;  // bytes of the scratch per register q
  std::int64_t steps;  // kernel columns times quads
  const std::byte* packed;
  __mmask64 mask;                   // the channels of one column
  std::int64_t offset[kMostSteps];  // of each step's input in the scratch
};

// Columns are stored by residue modulo stride_w, so that output columns read neighbours.
std::int64_t plane_of(const DepthwiseCall& call, std::int64_t chunk, std::int64_t columns) {
  const std::int64_t reach = (chunk - 1) * call.stride_w + (call.kernel_w - 1) * call.dilation_w;
  return reach / call.stride_w + 1 + columns;
}

bool make_plan(Plan& plan) {
  const DepthwiseCall& call = plan.call;
  const std::int64_t first = call.block * kDepthwiseBlock;
  plan.channels = smaller(kDepthwiseBlock, call.channels - first);
  plan.lanes = lanes_of(plan.channels);
  plan.columns = 4 / plan.lanes;
  plan.quads = quads_of(call.kernel_h);
  plan.steps = call.kernel_w * plan.quads;
  plan.mask = ~std::uint64_t{0} >> (64 - plan.channels);
  plan.packed = call.packed + call.block * block_bytes(call.layers, call.kernel_h, call.kernel_w);
  if (plan.quads > kMostQuads || plan.steps > kMostSteps) return false;
  const auto bytes = [&](std::int64_t chunk) {
    return plane_of(call, chunk, plan.columns) * call.stride_w * plan.quads * kVector * plan.lanes;
  };
  plan.chunk = plan.columns;
  if (call.stride_w > kScratchBytes || call.dilation_w > kScratchBytes ||
      bytes(plan.chunk) > kScratchBytes) {
    return false;
  }
  while (plan.chunk < call.out_w && bytes(plan.chunk + plan.columns) <= kChunkBytes) {
    plan.chunk += plan.columns;
  }
  plan.plane = plane_of(call, plan.chunk, plan.columns);
  plan.pitch = plan.plane * call.stride_w * 16 * plan.lanes;
  for (std::int64_t j = 0; j < call.kernel_w; ++j) {
    const std::int64_t column = j * call.dilation_w;
    const std::int64_t place = column % call.stride_w * plan.plane + column / call.stride_w;
    for (std::int64_t quad = 0; quad < plan.quads; ++quad) {
      plan.offset[j * plan.quads + quad] = quad * 4 * plan.pitch + place * 16 * plan.lanes;
    }
  }
  return true;
}

enum class Fill : std::uint8_t { kWhole, kPartial };

// The input rows of a quad; rows outside of the image are null.
struct Quad {
  const std::uint8_t* row[4];
};

template <unsigned kLanes, Fill kFill>
QTOOL_INLINE inline __m512i load_columns(const Plan& plan, const std::uint8_t* row,
                                         std::int64_t column) {
  const DepthwiseCall& call = plan.call;
  const auto pixel = [&](unsigned n) QTOOL_INLINE {
    const std::int64_t x = column + n * call.stride_w;
    const bool inside = row != nullptr && x >= 0 && x < call.in_w;
    return inside ? row + x * call.in_pixel_stride : call.zero_pixel;
  };
  if constexpr (kLanes == 4) {
    return kFill == Fill::kWhole ? _mm512_loadu_si512(pixel(0))
                                 : _mm512_maskz_loadu_epi8(plan.mask, pixel(0));
  } else if constexpr (kLanes == 2) {
    const auto half = [&](unsigned n) QTOOL_INLINE {
      const auto mask = static_cast<__mmask32>(plan.mask);
      return kFill == Fill::kWhole ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel(n)))
                                   : _mm256_maskz_loadu_epi8(mask, pixel(n));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
  } else {
    const auto quarter = [&](unsigned n) QTOOL_INLINE {
      const auto mask = static_cast<__mmask16>(plan.mask);
      return kFill == Fill::kWhole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel(n)))
                                   : _mm_maskz_loadu_epi8(mask, pixel(n));
    };
    __m512i all = _mm512_castsi128_si512(quarter(0));
    all = _mm512_inserti32x4(all, quarter(1), 1);
    all = _mm512_inserti32x4(all, quarter(2), 2);
    return _mm512_inserti32x4(all, quarter(3), 3);
  }
}

// Fills the scratch of one quad for the output columns from `first` on.
template <unsigned kLanes, Fill kFill>
void interleave(const Plan& plan, const Quad& quad, std::int64_t first, std::byte* scratch) {
  const DepthwiseCall& call = plan.call;
  constexpr std::int64_t kColumns = 4 / kLanes;
  const std::int64_t left = first * call.stride_w - call.pad_left;
  for (std::int64_t residue = 0; residue < call.stride_w; ++residue) {
    std::byte* to = scratch + residue * plan.plane * 16 * kLanes;
    for (std::int64_t n = 0; n + kColumns <= plan.plane; n += kColumns, to += kVector) {
      const std::int64_t column = left + residue + n * call.stride_w;
      __m512i row[4];
      unroll<4>([&](auto r) QTOOL_INLINE {
        row[r] = load_columns<kLanes, kFill>(plan, quad.row[r], column);
      });
      const __m512i low_ab = _mm512_unpacklo_epi8(row[0], row[1]);
      const __m512i high_ab = _mm512_unpackhi_epi8(row[0], row[1]);
      const __m512i low_cd = _mm512_unpacklo_epi8(row[2], row[3]);
      const __m512i high_cd = _mm512_unpackhi_epi8(row[2], row[3]);
      _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low_ab, low_cd));
      _mm512_storeu_si512(to + plan.pitch, _mm512_unpackhi_epi16(low_ab, low_cd));
      _mm512_storeu_si512(to + 2 * plan.pitch, _mm512_unpacklo_epi16(high_ab, high_cd));
      _mm512_storeu_si512(to + 3 * plan.pitch, _mm512_unpackhi_epi16(high_ab, high_cd));
    }
  }
}

// Sums of kRows output rows and kGroups registers of output columns: [row][group][q].
template <unsigned kRows, unsigned kGroups>
__attribute__((noinline)) void accumulate(const Plan& plan, const std::byte* scratch,
                                          __m512i* sums) {
  __m512i acc[kRows * kGroups * 4];
  unroll<4>([&](auto q) QTOOL_INLINE {
    const __m512i bias = _mm512_loadu_si512(plan.packed + q * kVector);
    unroll<kRows * kGroups>([&](auto i) QTOOL_INLINE { acc[i * 4 + q] = bias; });
  });
  const std::byte* weights = plan.packed + kHeaderBytes;
  for (std::int64_t layer = 0; layer < plan.call.layers; ++layer) {
    for (std::int64_t step = 0; step < plan.steps; ++step, weights += kStepBytes) {
      const std::byte* from = scratch + plan.offset[step];
      unroll<4>([&](auto q) QTOOL_INLINE {
        __m512i weight[kRows];
        unroll<kRows>([&](auto r) QTOOL_INLINE {
          weight[r] = _mm512_loadu_si512(weights + (r * 4 + q) * kVector);
        });
        unroll<kGroups>([&](auto g) QTOOL_INLINE {
          const __m512i input = _mm512_loadu_si512(from + q * plan.pitch + g * kVector);
          unroll<kRows>([&](auto r) QTOOL_INLINE {
            constexpr unsigned i = (r * kGroups + g) * 4 + q;
            acc[i] = _mm512_dpbusd_epi32(acc[i], input, weight[r]);
          });
        });
      });
    }
  }
  unroll<kRows * kGroups * 4>([&](auto i) QTOOL_INLINE { sums[i] = acc[i]; });
}

__m512 scaled(const Plan& plan, __m512i sum, unsigned q) {
  const __m512 multiplier = _mm512_loadu_ps(plan.packed + (4 + q) * kVector);
  return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
}

// clamp(rint(float(acc) * multiplier) + zero_point, low, high) of one register of columns. Only the
// upper limit must be applied before rounding: a sum below int32 rounds to INT_MIN and saturates.
// The packs undo the order of the channels.
__m512i requantize(const Plan& plan, const __m512i* sums) {
  const DepthwiseCall& call = plan.call;
  __m512i rounded[4];
  unroll<4>([&](auto q) QTOOL_INLINE {
    rounded[q] =
        _mm512_cvtps_epi32(_mm512_min_ps(scaled(plan, sums[q], q), _mm512_set1_ps(65536.0F)));
  });
  const __m512i zero_point = _mm512_set1_epi16(static_cast<short>(call.zero_point));
  const __m512i bytes = _mm512_packus_epi16(
      _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zero_point),
      _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), zero_point));
  return _mm512_min_epu8(_mm512_max_epu8(bytes, _mm512_set1_epi8(static_cast<char>(call.low))),
                         _mm512_set1_epi8(static_cast<char>(call.high)));
}

// Stores the first `count` columns of one register.
template <unsigned kLanes>
QTOOL_INLINE inline void store_bytes(const Plan& plan, const __m512i* sums, std::int64_t count,
                                     std::uint8_t* out) {
  const __m512i bytes = requantize(plan, sums);
  const std::int64_t stride = plan.call.out_pixel_stride;
  if constexpr (kLanes == 4) {
    _mm512_mask_storeu_epi8(out, plan.mask, bytes);
  } else if constexpr (kLanes == 2) {
    const auto mask = static_cast<__mmask32>(plan.mask);
    _mm256_mask_storeu_epi8(out, mask, _mm512_castsi512_si256(bytes));
    if (count > 1) {
      _mm256_mask_storeu_epi8(out + stride, mask, _mm512_extracti64x4_epi64(bytes, 1));
    }
  } else {
    const auto mask = static_cast<__mmask16>(plan.mask);
    _mm_mask_storeu_epi8(out, mask, _mm512_castsi512_si128(bytes));
    if (count > 1) {
      _mm_mask_storeu_epi8(out + stride, mask, _mm512_extracti32x4_epi32(bytes, 1));
    }
    if (count > 2) {
      _mm_mask_storeu_epi8(out + 2 * stride, mask, _mm512_extracti32x4_epi32(bytes, 2));
    }
    if (count > 3) {
      _mm_mask_storeu_epi8(out + 3 * stride, mask, _mm512_extracti32x4_epi32(bytes, 3));
    }
  }
}

void store_floats(const Plan& plan, const __m512i* sums, std::int64_t count, float* out) {
  const DepthwiseCall& call = plan.call;
  for (unsigned q = 0; q < 4; ++q) {
    alignas(64) float product[16];
    _mm512_store_ps(product, scaled(plan, sums[q], q));
    for (std::int64_t lane = 0; lane < 16; ++lane) {
      const std::int64_t column = lane / 4 / plan.lanes;
      const std::int64_t channel = channel_of(q, lane, plan.lanes);
      if (column < count && channel < plan.channels) {
        out[column * call.out_pixel_stride + channel] =
            product[lane] + call.addend[call.block * kDepthwiseBlock + channel];
      }
    }
  }
}

// Output columns [first, last) of kRows rows from row y on.
template <unsigned kLanes, unsigned kRows>
void compute(const Plan& plan, const std::byte* scratch, std::int64_t y, std::int64_t first,
             std::int64_t last) {
  constexpr std::int64_t kColumns = 4 / kLanes;
  const DepthwiseCall& call = plan.call;
  const auto store = [&](const __m512i* sums, std::int64_t row, std::int64_t x) {
    const std::int64_t at =
        (row * call.out_w + x) * call.out_pixel_stride + call.block * kDepthwiseBlock;
    const std::int64_t count = smaller(kColumns, last - x);
    if (call.output_type == OutputType::kFloat32) {
      store_floats(plan, sums, count, static_cast<float*>(call.output) + at);
    } else {
      store_bytes<kLanes>(plan, sums, count, static_cast<std::uint8_t*>(call.output) + at);
    }
  };
  __m512i sums[kRows * 2 * 4];
  std::int64_t x = first;
  for (; x + kColumns < last; x += 2 * kColumns) {
    accumulate<kRows, 2>(plan, scratch + (x - first) * 16 * kLanes, sums);
    for (unsigned r = 0; r < kRows; ++r) {
      store(sums + r * 8, y + r, x);
      store(sums + r * 8 + 4, y + r, x + kColumns);
    }
  }
  if (x < last) {
    accumulate<kRows, 1>(plan, scratch + (x - first) * 16 * kLanes, sums);
    for (unsigned r = 0; r < kRows; ++r) store(sums + r * 4, y + r, x);
  }
}

template <unsigned kLanes, Fill kFill>
void run_block(const Plan& plan) {
  const DepthwiseCall& call = plan.call;
  alignas(64) std::byte scratch[kScratchBytes];
  const bool pairs = call.stride_h == 1 && call.dilation_h == 1;
  for (std::int64_t y = call.row_begin; y < call.row_end;) {
    const std::int64_t rows = pairs && y + 1 < call.row_end ? 2 : 1;
    for (std::int64_t first = 0; first < call.out_w; first += plan.chunk) {
      for (std::int64_t q = 0; q < plan.quads; ++q) {
        Quad quad;
        for (std::int64_t r = 0; r < 4; ++r) {
          const std::int64_t i = q * 4 + r;
          const std::int64_t in_y = y * call.stride_h - call.pad_top + i * call.dilation_h;
          const bool used = i < call.kernel_h + rows - 1 && in_y >= 0 && in_y < call.in_h;
          quad.row[r] = used ? call.input + in_y * call.in_w * call.in_pixel_stride +
                                   call.block * kDepthwiseBlock
                             : nullptr;
        }
        interleave<kLanes, kFill>(plan, quad, first, scratch + q * 4 * plan.pitch);
      }
      const std::int64_t last = smaller(call.out_w, first + plan.chunk);
      if (rows == 2) {
        compute<kLanes, 2>(plan, scratch, y, first, last);
      } else {
        compute<kLanes, 1>(plan, scratch, y, first, last);
      }
    }
    y += rows;
  }
}

// For windows that are too large for the scratch: one sum after the other, from the same weights.
void run_slowly(const Plan& plan) {
  const DepthwiseCall& call = plan.call;
  const auto* values = reinterpret_cast<const std::int8_t*>(plan.packed + kHeaderBytes);
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    for (std::int64_t x = 0; x < call.out_w; ++x) {
      alignas(64) std::int32_t sums[kDepthwiseBlock];
      for (std::int64_t at = 0; at < kDepthwiseBlock; ++at) {
        const std::int64_t channel = channel_of(at / 16, at % 16, plan.lanes);
        std::int32_t sum = 0;
        for (std::int64_t step = 0; step < call.layers * plan.steps && channel < plan.channels;
             ++step) {
          const std::int64_t j = step / plan.quads % call.kernel_w;
          const std::int64_t in_x = x * call.stride_w - call.pad_left + j * call.dilation_w;
          for (std::int64_t byte = 0; byte < 4; ++byte) {
            const std::int64_t i = step % plan.quads * 4 + byte;
            const std::int64_t in_y = y * call.stride_h - call.pad_top + i * call.dilation_h;
            const bool inside = in_y >= 0 && in_y < call.in_h && in_x >= 0 && in_x < call.in_w;
            const std::int64_t pixel = (in_y * call.in_w + in_x) * call.in_pixel_stride;
            const std::int32_t value =
                inside ? call.input[pixel + call.block * kDepthwiseBlock + channel]
                       : call.zero_pixel[0];
            sum += value * values[step * kStepBytes + at * 4 + byte];
          }
        }
        sums[at] = sum;
      }
      __m512i biased[4];
      for (unsigned q = 0; q < 4; ++q) {
        biased[q] = _mm512_add_epi32(_mm512_load_si512(sums + q * 16U),
                                     _mm512_loadu_si512(plan.packed + q * kVector));
      }
      const std::int64_t at =
          (y * call.out_w + x) * call.out_pixel_stride + call.block * kDepthwiseBlock;
      if (call.output_type == OutputType::kFloat32) {
        store_floats(plan, biased, 1, static_cast<float*>(call.output) + at);
      } else {
        store_bytes<4>(plan, biased, 1, static_cast<std::uint8_t*>(call.output) + at);
      }
    }
  }
}

void run(const DepthwiseCall& call) {
  Plan plan{call, 0, 0, 0, 0, 0, 0, 0, 0, nullptr, 0, {}};
  if (!make_plan(plan)) return run_slowly(plan);
  const bool whole = plan.channels == 16 * plan.lanes;
  switch (plan.lanes) {
    case 1:
      return whole ? run_block<1, Fill::kWhole>(plan) : run_block<1, Fill::kPartial>(plan);
    case 2:
      return whole ? run_block<2, Fill::kWhole>(plan) : run_block<2, Fill::kPartial>(plan);
    default:
      return whole ? run_block<4, Fill::kWhole>(plan) : run_block<4, Fill::kPartial>(plan);
  }
}

}  // namespace

constexpr DepthwiseFunctions depthwise_avx512vnni = {packed_bytes, pack, run, 2};

}  // namespace qtool
