#pragma once

#include <cstddef>
#include <cstdint>

#include "base/round_up.h"
#include "kernels/depthwise/contract.h"
#include "kernels/epilogue_avx512.h"

// Stages of the kernel for AVX-512 VNNI: packed weights, the plan of a call, interleaved columns,
// and the epilogue.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see logarithm.h

// vpdpbusd adds four products per 32-bit lane, so four input rows of one column are interleaved:
// a lane holds four rows ("a quad") of one channel. An interleaved column serves every output
// column whose window contains it. With stride 1 it also serves two output rows: the weights are
// packed for both rows, and those of the second row are shifted down by one. The interleaved
// columns of a chunk of output columns lie in a scratch buffer in the L1 cache.
//
// A register holds 64 channels of one column. For the last channels of an image it holds 32
// channels of two, or 16 channels of four neighbouring output columns. kLanes is the number of
// 128-bit lanes per column. After byte and word unpacking, register q holds channels 4 q to 4 q + 3
// of each lane.
constexpr std::int64_t kScratchBytes = 48 << 10;
constexpr std::int64_t kChunkBytes = 20 << 10;  // leaves room for weights and rows in the L1
constexpr std::int64_t kVector = 64;
constexpr std::int64_t kHeaderBytes = 12 * kVector;  // bias, multiplier, factor of 64 channels
constexpr std::int64_t kStepBytes = 8 * kVector;     // weights of a quad for two output rows
constexpr std::int64_t kMaxQuads = 16;
constexpr std::int64_t kMaxSteps = 256;
constexpr std::int64_t kMaxStride = 8;

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// The number of quads that hold the input rows of two output rows.
std::int64_t quads_of(std::int64_t kernel_h) { return ceil_div(kernel_h + 1, 4); }

std::int64_t block_bytes(std::int64_t terms, std::int64_t kernel_h, std::int64_t kernel_w) {
  return kHeaderBytes + terms * kernel_w * quads_of(kernel_h) * kStepBytes;
}

std::int64_t lanes_of(std::int64_t channels) {
  if (channels <= 16) return 1;
  return channels <= 32 ? 2 : 4;
}

std::int64_t packed_bytes(const DepthwiseWeights& weights) {
  return ceil_div(weights.channels, kDepthwiseBlock) *
         block_bytes(weights.terms, weights.kernel_h, weights.kernel_w);
}

// The channel of a block that is in 32-bit lane `lane` of register q.
std::int64_t channel_of(std::int64_t q, std::int64_t lane, std::int64_t lanes) {
  return lane / 4 % lanes * 16 + 4 * q + lane % 4;
}

void pack_header(const DepthwiseWeights& weights, std::int64_t begin, std::int64_t count,
                 std::byte* packed) {
  auto* bias = reinterpret_cast<std::int32_t*>(packed);
  auto* multiplier = reinterpret_cast<float*>(packed + 4 * kVector);
  auto* factors = reinterpret_cast<CurveFactor*>(packed + 8 * kVector);
  for (std::int64_t at = 0; at < kDepthwiseBlock; ++at) {
    const std::int64_t channel = channel_of(at / 16, at % 16, lanes_of(count));
    bias[at] = channel < count ? weights.bias[begin + channel] : 0;
    multiplier[at] = channel < count ? weights.multiplier[begin + channel] : 0.0F;
    const bool has_factor = channel < count && weights.factors != nullptr;
    factors[at] = has_factor ? weights.factors[begin + channel] : CurveFactor();
  }
}

// Packs one step, which is quad `quad` of kernel column j of a term: four registers for each of two
// output rows.
void pack_step(const DepthwiseWeights& weights, std::int64_t begin, std::int64_t count,
               std::int64_t term, std::int64_t j, std::int64_t quad, std::int8_t* packed) {
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t at = 0; at < kDepthwiseBlock; ++at) {
      const std::int64_t channel = channel_of(at / 16, at % 16, lanes_of(count));
      for (std::int64_t byte = 0; byte < 4; ++byte, ++packed) {
        const std::int64_t i = quad * 4 + byte - row;
        const bool real = channel < count && i >= 0 && i < weights.kernel_h;
        const std::int64_t tap = (term * weights.kernel_h + i) * weights.kernel_w + j;
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
    for (std::int64_t term = 0; term < weights.terms; ++term) {
      for (std::int64_t j = 0; j < weights.kernel_w; ++j) {
        for (std::int64_t quad = 0; quad < quads_of(weights.kernel_h); ++quad) {
          pack_step(weights, begin, count, term, j, quad, reinterpret_cast<std::int8_t*>(packed));
          packed += kStepBytes;
        }
      }
    }
  }
}

// The bytes that the epilogue makes: rounded products in a range, where the products fit int32
// (they do if multipliers are below 1) or may not, bytes of a curve, or none but floats or sums.
enum class Bytes : std::uint8_t { kFit, kMayOverflow, kOnCurve, kNone };

// Values that stay the same during a call.
struct Plan {
  const DepthwiseCall& call;
  std::int64_t channels;  // in this block
  std::int64_t lanes;     // per column
  std::int64_t columns;   // output columns per register
  std::int64_t quads;
  std::int64_t chunk;  // output columns that are computed from one filling of the scratch
  std::int64_t plane;  // columns of the scratch per residue modulo stride_w
  std::int64_t pitch;  // bytes of the scratch per register q
  std::int64_t steps;  // kernel columns times quads
  const std::byte* packed;
  __mmask64 mask;  // the channels of one column
  Bytes bytes;
  std::int64_t offset[kMaxSteps];  // position of each step's input in the scratch
};

// Columns are stored by residue modulo stride_w, so that neighbouring output columns read
// neighbouring columns. Returns the number of columns of one residue that `chunk` output columns
// need, rounded up to whole registers.
std::int64_t plane_of(const DepthwiseCall& call, std::int64_t chunk, std::int64_t columns) {
  const std::int64_t reach = (ceil_div(chunk, columns) * columns - 1) * call.stride_w +
                             (call.kernel_w - 1) * call.dilation_w;
  return ceil_div(reach / call.stride_w + 1, columns) * columns;
}

Bytes bytes_of(const Plan& plan) {
  if (plan.call.output_type != OutputType::kUInt8) return Bytes::kNone;
  if (plan.call.curve != nullptr) return Bytes::kOnCurve;
  for (std::int64_t q = 4; q < 8; ++q) {
    const __m512 multiplier = _mm512_loadu_ps(plan.packed + q * kVector);
    if (_mm512_cmp_ps_mask(_mm512_abs_ps(multiplier), _mm512_set1_ps(1.0F), _CMP_GE_OQ) != 0) {
      return Bytes::kMayOverflow;
    }
  }
  return Bytes::kFit;
}

bool make_plan(Plan& plan) {
  const DepthwiseCall& call = plan.call;
  const std::int64_t first = call.block * kDepthwiseBlock;
  plan.channels = smaller(kDepthwiseBlock, call.channels - first);
  plan.lanes = lanes_of(plan.channels);
  plan.columns = 4 / plan.lanes;
  plan.quads = quads_of(call.kernel_h);
  plan.steps = call.kernel_w * plan.quads;
  plan.mask = first_bytes(plan.channels);
  plan.packed = call.packed + call.block * block_bytes(call.terms, call.kernel_h, call.kernel_w);
  plan.bytes = bytes_of(plan);
  if (plan.quads > kMaxQuads || plan.steps > kMaxSteps) return false;
  if (call.stride_w > kMaxStride || call.dilation_w > kScratchBytes) return false;
  const std::int64_t column_bytes = call.stride_w * plan.quads * kVector * plan.lanes;
  const auto bytes = [&](std::int64_t chunk) {
    return plane_of(call, chunk, plan.columns) * column_bytes;
  };
  // A chunk is a whole row, or the part that fits in kChunkBytes, but at least one register.
  plan.chunk = ceil_div(call.out_w, plan.columns) * plan.columns;
  if (bytes(plan.chunk) > kChunkBytes) {
    const std::int64_t room = kChunkBytes / column_bytes - 2 * plan.columns -
                              ceil_div((call.kernel_w - 1) * call.dilation_w, call.stride_w);
    plan.chunk = room < plan.columns ? plan.columns : room / plan.columns * plan.columns;
    if (bytes(plan.chunk) > kScratchBytes) return false;
  }
  plan.plane = plane_of(call, plan.chunk, plan.columns);
  plan.pitch = plan.plane * call.stride_w * 16 * plan.lanes;
  for (std::int64_t j = 0; j < call.kernel_w; ++j) {
    const std::int64_t column = j * call.dilation_w;
    const std::int64_t position = column % call.stride_w * plan.plane + column / call.stride_w;
    for (std::int64_t quad = 0; quad < plan.quads; ++quad) {
      plan.offset[j * plan.quads + quad] = quad * 4 * plan.pitch + position * 16 * plan.lanes;
    }
  }
  return true;
}

enum class Fill : std::uint8_t { kWhole, kPartial };

// The input rows of a quad, at column 0. A row outside the image points to one zero pixel, with
// step 0.
struct Quad {
  const std::uint8_t* row[4];
  std::int64_t step[4];  // bytes between columns
};

// Loads one pixel into each part of a register; `at(n)` is the address of the n-th pixel.
template <unsigned kLanes, Fill kFill, typename Address>
QTOOL_INLINE inline __m512i gather(__mmask64 mask, const Address& at) {
  if constexpr (kLanes == 4) {
    return kFill == Fill::kWhole ? _mm512_loadu_si512(at(0)) : _mm512_maskz_loadu_epi8(mask, at(0));
  } else if constexpr (kLanes == 2) {
    const auto half = [&](std::int64_t n) QTOOL_INLINE {
      return kFill == Fill::kWhole ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at(n)))
                                   : _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), at(n));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
  } else {
    const auto quarter = [&](std::int64_t n) QTOOL_INLINE {
      return kFill == Fill::kWhole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(at(n)))
                                   : _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), at(n));
    };
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
}

QTOOL_INLINE inline void interleave_rows(const __m512i* row, __m512i* column) {
  const __m512i low_ab = _mm512_unpacklo_epi8(row[0], row[1]);
  const __m512i high_ab = _mm512_unpackhi_epi8(row[0], row[1]);
  const __m512i low_cd = _mm512_unpacklo_epi8(row[2], row[3]);
  const __m512i high_cd = _mm512_unpackhi_epi8(row[2], row[3]);
  column[0] = _mm512_unpacklo_epi16(low_ab, low_cd);
  column[1] = _mm512_unpackhi_epi16(low_ab, low_cd);
  column[2] = _mm512_unpacklo_epi16(high_ab, high_cd);
  column[3] = _mm512_unpackhi_epi16(high_ab, high_cd);
}

QTOOL_INLINE inline void store_interleaved(const __m512i* row, std::byte* to, std::int64_t pitch) {
  __m512i column[4];
  interleave_rows(row, column);
  unroll<4>([&](auto q) QTOOL_INLINE { _mm512_storeu_si512(to + q * pitch, column[q]); });
}

Quad quad_of(const DepthwiseCall& call, std::int64_t y, std::int64_t rows, std::int64_t q) {
  Quad quad;
  for (std::int64_t r = 0; r < 4; ++r) {
    const std::int64_t i = q * 4 + r;
    const std::int64_t in_y = y * call.stride_h - call.pad_top + i * call.dilation_h;
    const bool used = i < call.kernel_h + rows - 1 && in_y >= 0 && in_y < call.in_h;
    quad.row[r] =
        used ? call.input + in_y * call.in_w * call.in_pixel_stride + call.block * kDepthwiseBlock
             : call.zero_pixel;
    quad.step[r] = used ? call.in_pixel_stride : 0;
  }
  return quad;
}

// The epilogue's parameters in registers: reloading them from the call would double the cost.
template <Bytes kBytes>
struct Columns {
  __m512 multiplier[4];
  ByteRange range;
};
template <>
struct Columns<Bytes::kOnCurve> {
  __m512 multiplier[4];
  CurveRegisters curve;
  FactorRegisters factors[2];
};

template <Bytes kBytes>
QTOOL_INLINE inline Columns<kBytes> columns_of(const Plan& plan) {
  Columns<kBytes> columns;
  unroll<4>([&](auto q) QTOOL_INLINE {
    columns.multiplier[q] = _mm512_loadu_ps(plan.packed + (4 + q) * kVector);
  });
  if constexpr (kBytes == Bytes::kOnCurve) {
    columns.curve = registers_of(*plan.call.curve);
    unroll<2>([&](auto n) QTOOL_INLINE {
      const std::byte* first = plan.packed + (8 + 2 * n) * kVector;
      columns.factors[n] = factor_registers(first, first + kVector);
    });
  } else {
    columns.range = byte_range(plan.call.zero_point, plan.call.low, plan.call.high);
  }
  return columns;
}

// Requantizes one register of columns. The pack instructions restore the order of the channels.
template <Bytes kBytes>
QTOOL_INLINE inline __m512i requantize(const Columns<kBytes>& columns, const __m512i* sums) {
  if constexpr (kBytes == Bytes::kOnCurve) {
    __m512 numbers[4];
    unroll<4>([&](auto q) QTOOL_INLINE {
      numbers[q] = curve_number(sums[q], columns.multiplier[q], columns.curve);
    });
    return pack_curve<Products::kMayOverflow>(numbers, columns.curve, columns.factors[0],
                                              columns.factors[1]);
  } else {
    constexpr auto kProducts = kBytes == Bytes::kFit ? Products::kFit : Products::kMayOverflow;
    __m512i rounded[4];
    unroll<4>([&](auto q) QTOOL_INLINE {
      rounded[q] = round_product<kProducts>(scale(sums[q], columns.multiplier[q]));
    });
    return pack_bytes(rounded, columns.range);
  }
}

// Stores the first `count` columns of one register.
template <unsigned kLanes>
QTOOL_INLINE inline void store_bytes(__m512i bytes, __mmask64 mask, std::int64_t count,
                                     std::int64_t stride, std::uint8_t* out) {
  unroll<4 / kLanes>([&](auto n) QTOOL_INLINE {
    if (n == 0 || n < count) store_part<4 / kLanes, n>(bytes, mask, out + n * stride);
  });
}

// Transposes the 128-bit lanes: register n then holds sixteen neighbouring channels, those of part
// n / kLanes from channel 16 (n % kLanes) on.
QTOOL_INLINE inline void sort_lanes(__m512i* registers) {
  const __m512i low_01 = _mm512_shuffle_i32x4(registers[0], registers[1], 0x44);
  const __m512i low_23 = _mm512_shuffle_i32x4(registers[2], registers[3], 0x44);
  const __m512i high_01 = _mm512_shuffle_i32x4(registers[0], registers[1], 0xEE);
  const __m512i high_23 = _mm512_shuffle_i32x4(registers[2], registers[3], 0xEE);
  registers[0] = _mm512_shuffle_i32x4(low_01, low_23, 0x88);
  registers[1] = _mm512_shuffle_i32x4(low_01, low_23, 0xDD);
  registers[2] = _mm512_shuffle_i32x4(high_01, high_23, 0x88);
  registers[3] = _mm512_shuffle_i32x4(high_01, high_23, 0xDD);
}

// Stores floats or sums of the first `count` parts of four registers. pixels[n]: the output pixel
// of part n.
template <unsigned kLanes>
__attribute__((noinline)) void store_reals(const Plan& plan, const __m512i* sums,
                                           const std::int64_t* pixels, std::int64_t count) {
  const DepthwiseCall& call = plan.call;
  const std::int64_t first = call.block * kDepthwiseBlock;
  const bool floats = call.output_type == OutputType::kFloat32;
  __m512i registers[4];
  unroll<4>([&](auto q) QTOOL_INLINE {
    const __m512 multiplier = _mm512_loadu_ps(plan.packed + (4 + q) * kVector);
    registers[q] = floats ? _mm512_castps_si512(scale(sums[q], multiplier)) : sums[q];
  });
  sort_lanes(registers);
  unroll<4>([&](auto n) QTOOL_INLINE {
    constexpr unsigned kPart = n / kLanes;
    const auto mask = static_cast<__mmask16>(plan.mask >> (n % kLanes * 16U));
    if (kPart >= count || mask == 0) return;
    const std::int64_t channel = first + n % kLanes * 16;
    const std::int64_t pixel = pixels[kPart];
    const std::int64_t at = pixel * call.out_pixel_stride + channel;
    if (!floats) {
      _mm512_mask_storeu_epi32(static_cast<std::int32_t*>(call.output) + at, mask, registers[n]);
      return;
    }
    const float* addend =
        (call.onto == nullptr ? call.addend : call.onto + pixel * call.onto_stride) + channel;
    const __m512 sum =
        _mm512_add_ps(_mm512_castsi512_ps(registers[n]), _mm512_maskz_loadu_ps(mask, addend));
    _mm512_mask_storeu_ps(static_cast<float*>(call.output) + at, mask, sum);
  });
}

// Any epilogue. Takes the first `count` of the neighbouring columns of four registers; `pixel` is
// the first one.
template <unsigned kLanes>
__attribute__((noinline)) void store_rarely(const Plan& plan, const __m512i* sums,
                                            std::int64_t count, std::int64_t pixel) {
  const DepthwiseCall& call = plan.call;
  if (plan.bytes == Bytes::kNone) {
    const std::int64_t pixels[] = {pixel, pixel + 1, pixel + 2, pixel + 3};
    return store_reals<kLanes>(plan, sums, pixels, count);
  }
  const __m512i bytes =
      plan.bytes == Bytes::kOnCurve
          ? requantize<Bytes::kOnCurve>(columns_of<Bytes::kOnCurve>(plan), sums)
          : requantize<Bytes::kMayOverflow>(columns_of<Bytes::kMayOverflow>(plan), sums);
  store_bytes<kLanes>(bytes, plan.mask, count, call.out_pixel_stride,
                      static_cast<std::uint8_t*>(call.output) + pixel * call.out_pixel_stride +
                          call.block * kDepthwiseBlock);
}

}  // namespace
}  // namespace qtool
