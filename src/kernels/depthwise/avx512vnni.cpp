#include <cstddef>
#include <cstdint>

#include "kernels/depthwise/stages.h"

namespace qtool {
namespace {

// Interleaves `count` registers whose columns begin at `x`. Some columns are outside the image.
template <unsigned kLanes, Fill kFill>
__attribute__((noinline)) void interleave_border(const Plan& plan, const Quad& quad, std::int64_t x,
                                                 std::int64_t count, std::byte* to) {
  const DepthwiseCall& call = plan.call;
  for (; count > 0; --count, to += kVector) {
    __m512i row[4];
    for (unsigned r = 0; r < 4; ++r) {
      row[r] = gather<kLanes, kFill>(plan.mask, [&](std::int64_t n) {
        const std::int64_t column = x + n * call.stride_w;
        const bool inside = column >= 0 && column < call.in_w;
        return inside ? quad.row[r] + column * quad.step[r] : call.zero_pixel;
      });
    }
    store_interleaved(row, to, plan.pitch);
    x += 4 / kLanes * call.stride_w;
  }
}

// As interleave_border(), but all columns are inside the image.
template <unsigned kLanes, Fill kFill>
__attribute__((noinline)) void interleave_inside(const Plan& plan, const Quad& quad, std::int64_t x,
                                                 std::int64_t count, std::byte* to) {
  const std::int64_t pitch = plan.pitch;
  const __mmask64 mask = plan.mask;
  const std::uint8_t* from[4];
  std::int64_t step[4];
  unroll<4>([&](auto r) QTOOL_INLINE {
    from[r] = quad.row[r] + x * quad.step[r];
    step[r] = quad.step[r] * plan.call.stride_w;
  });
  for (; count > 0; --count, to += kVector) {
    __m512i row[4];
    unroll<4>([&](auto r) QTOOL_INLINE {
      row[r] = gather<kLanes, kFill>(
          mask, [&](std::int64_t n) QTOOL_INLINE { return from[r] + n * step[r]; });
      from[r] += 4 / kLanes * step[r];
    });
    store_interleaved(row, to, pitch);
  }
}

// The columns of one residue of a chunk, counted in registers. Registers before `begin` and from
// `end` on are not wholly inside the image.
struct Span {
  std::int64_t x;  // first input column
  std::int64_t begin;
  std::int64_t end;
  std::int64_t count;
};

Span span_of(const Plan& plan, std::int64_t first, std::int64_t count, std::int64_t residue) {
  const DepthwiseCall& call = plan.call;
  const std::int64_t step = plan.columns * call.stride_w;  // columns from register to register
  Span span;
  span.x = first * call.stride_w - call.pad_left + residue;
  span.count = plane_of(call, count, plan.columns) / plan.columns;
  const std::int64_t last = call.in_w - 1 - (plan.columns - 1) * call.stride_w;
  span.begin = smaller(span.count, span.x >= 0 ? 0 : ceil_div(-span.x, step));
  span.end = last < span.x ? 0 : smaller(span.count, (last - span.x) / step + 1);
  if (span.end < span.begin) span.end = span.begin;
  return span;
}

// Fills the scratch of one quad and residue.
template <unsigned kLanes, Fill kFill>
void interleave(const Plan& plan, const Quad& quad, const Span& span, std::byte* to) {
  const std::int64_t step = 4 / kLanes * plan.call.stride_w;
  interleave_border<kLanes, kFill>(plan, quad, span.x, span.begin, to);
  interleave_inside<kLanes, kFill>(plan, quad, span.x + span.begin * step, span.end - span.begin,
                                   to + span.begin * kVector);
  interleave_border<kLanes, kFill>(plan, quad, span.x + span.end * step, span.count - span.end,
                                   to + span.end * kVector);
}

// Computes the sums of kRows output rows and kGroups registers of output columns, in the order
// [row][group][q].
template <unsigned kRows, unsigned kGroups>
QTOOL_INLINE inline void accumulate(const Plan& plan, const std::byte* scratch, __m512i* acc) {
  unroll<kRows * kGroups * 4>(
      [&](auto i) QTOOL_INLINE { acc[i] = _mm512_loadu_si512(plan.packed + i % 4 * kVector); });
  const std::int64_t pitch = plan.pitch;
  const std::byte* weights = plan.packed + kHeaderBytes;
  for (std::int64_t term = 0; term < plan.call.terms; ++term) {
    for (std::int64_t step = 0; step < plan.steps; ++step, weights += kStepBytes) {
      const std::byte* from = scratch + plan.offset[step];
      unroll<4>([&](auto q) QTOOL_INLINE {
        __m512i weight[kRows];
        unroll<kRows>([&](auto r) QTOOL_INLINE {
          weight[r] = _mm512_loadu_si512(weights + (r * 4 + q) * kVector);
          keep(weight[r]);
        });
        unroll<kGroups>([&](auto g) QTOOL_INLINE {
          const __m512i input = _mm512_loadu_si512(from + q * pitch + g * kVector);
          unroll<kRows>([&](auto r) QTOOL_INLINE {
            constexpr unsigned i = (r * kGroups + g) * 4 + q;
            acc[i] = _mm512_dpbusd_epi32(acc[i], input, weight[r]);
          });
        });
      });
    }
  }
  // Forces the accumulators into registers after the loop: otherwise GCC 12 stores copies of them.
  unroll<kRows * kGroups * 4>([&](auto i) QTOOL_INLINE { keep(acc[i]); });
}

// Computes output columns [first, last) of kRows rows from row y on, for bytes other than
// kMayOverflow.
template <Bytes kBytes, unsigned kLanes, unsigned kRows>
__attribute__((noinline)) void compute_bytes(const Plan& plan, const std::byte* scratch,
                                             std::int64_t y, std::int64_t first,
                                             std::int64_t last) {
  constexpr std::int64_t kColumns = 4 / kLanes;
  const DepthwiseCall& call = plan.call;
  const Columns<kBytes> columns = columns_of<kBytes>(plan);
  const __mmask64 mask = plan.mask;
  const std::int64_t stride = call.out_pixel_stride;
  const std::int64_t row_stride = call.out_w * stride;
  auto* out = static_cast<std::uint8_t*>(call.output) + y * row_stride + first * stride +
              call.block * kDepthwiseBlock;
  std::int64_t left = last - first;
  for (; left > kColumns; left -= 2 * kColumns) {
    __m512i acc[kRows * 2 * 4];
    accumulate<kRows, 2>(plan, scratch, acc);
    unroll<kRows * 2>([&](auto i) QTOOL_INLINE {
      std::uint8_t* to = out + i / 2 * row_stride + i % 2 * kColumns * stride;
      store_bytes<kLanes>(requantize<kBytes>(columns, acc + i * 4), mask, left - i % 2 * kColumns,
                          stride, to);
    });
    scratch += 2 * kVector;
    out += 2 * kColumns * stride;
  }
  if (left > 0) {
    __m512i acc[kRows * 4];
    accumulate<kRows, 1>(plan, scratch, acc);
    unroll<kRows>([&](auto r) QTOOL_INLINE {
      store_bytes<kLanes>(requantize<kBytes>(columns, acc + r * 4), mask, left, stride,
                          out + r * row_stride);
    });
  }
}

// As compute_bytes(), for all other outputs and products.
template <unsigned kLanes, unsigned kRows>
__attribute__((noinline)) void compute_rarely(const Plan& plan, const std::byte* scratch,
                                              std::int64_t y, std::int64_t first,
                                              std::int64_t last) {
  constexpr std::int64_t kColumns = 4 / kLanes;
  const DepthwiseCall& call = plan.call;
  for (std::int64_t x = first; x < last; x += kColumns, scratch += kVector) {
    __m512i acc[kRows * 4];
    accumulate<kRows, 1>(plan, scratch, acc);
    for (unsigned r = 0; r < kRows; ++r) {
      store_rarely<kLanes>(plan, acc + r * 4, last - x, (y + r) * call.out_w + x);
    }
  }
}

template <unsigned kLanes, unsigned kRows>
void compute(const Plan& plan, const std::byte* scratch, std::int64_t y, std::int64_t first,
             std::int64_t last) {
  if (plan.bytes == Bytes::kOnCurve) {
    compute_bytes<Bytes::kOnCurve, kLanes, kRows>(plan, scratch, y, first, last);
  } else if (plan.bytes == Bytes::kFit) {
    compute_bytes<Bytes::kFit, kLanes, kRows>(plan, scratch, y, first, last);
  } else {
    compute_rarely<kLanes, kRows>(plan, scratch, y, first, last);
  }
}

template <unsigned kLanes, Fill kFill>
void run_chunk(const Plan& plan, std::int64_t first, std::int64_t last, std::byte* scratch) {
  const DepthwiseCall& call = plan.call;
  Span spans[kMaxStride];
  for (std::int64_t residue = 0; residue < call.stride_w; ++residue) {
    spans[residue] = span_of(plan, first, last - first, residue);
  }
  const bool pairs = call.stride_h == 1 && call.dilation_h == 1;
  for (std::int64_t y = call.row_begin; y < call.row_end;) {
    const std::int64_t rows = pairs && y + 1 < call.row_end ? 2 : 1;
    for (std::int64_t q = 0; q < plan.quads; ++q) {
      const Quad quad = quad_of(call, y, rows, q);
      std::byte* to = scratch + q * 4 * plan.pitch;
      for (std::int64_t residue = 0; residue < call.stride_w; ++residue) {
        interleave<kLanes, kFill>(plan, quad, spans[residue], to);
        to += plan.plane * 16 * kLanes;
      }
    }
    if (rows == 2) {
      compute<kLanes, 2>(plan, scratch, y, first, last);
    } else {
      compute<kLanes, 1>(plan, scratch, y, first, last);
    }
    y += rows;
  }
}

template <unsigned kLanes, Fill kFill>
void run_block(const Plan& plan) {
  alignas(64) std::byte scratch[kScratchBytes];
  for (std::int64_t first = 0; first < plan.call.out_w; first += plan.chunk) {
    run_chunk<kLanes, kFill>(plan, first, smaller(plan.call.out_w, first + plan.chunk), scratch);
  }
}

// Whether a call needs no scratch: filters of 3x3 with equal strides, if bytes fit int32.
bool fits_registers(const Plan& plan) {
  const DepthwiseCall& call = plan.call;
  return call.kernel_h == 3 && call.kernel_w == 3 && call.terms == 1 && call.dilation_h == 1 &&
         call.dilation_w == 1 && call.stride_h <= 2 && call.stride_w == call.stride_h &&
         plan.bytes != Bytes::kMayOverflow;
}

// Output rows that are computed together. With fewer than 64 channels, each part of a register
// holds the same column for other output rows.
template <unsigned kLanes>
struct Rows {
  static constexpr unsigned kParts = 4 / kLanes;
  Quad quads[kParts];
  std::int64_t pixel[kParts];  // the first output pixel
  std::int64_t count;          // rows, the others are not stored
};

// Interleaves column `x`. All bytes of a column outside the image are the zero point.
template <unsigned kLanes, Fill kFill>
QTOOL_INLINE inline void interleave_column(const Rows<kLanes>& rows, std::int64_t x,
                                           std::int64_t width, __mmask64 mask, __m512i zero,
                                           __m512i* column) {
  if (x < 0 || x >= width) {
    unroll<4>([&](auto q) QTOOL_INLINE { column[q] = zero; });
    return;
  }
  __m512i row[4];
  unroll<4>([&](auto r) QTOOL_INLINE {
    row[r] = gather<kLanes, kFill>(mask, [&](std::int64_t n) QTOOL_INLINE {
      return rows.quads[n].row[r] + x * rows.quads[n].step[r];
    });
  });
  interleave_rows(row, column);
}

// Computes all output columns of kRows rows for each part. With stride 1, a window shares two
// columns with the next one, with stride 2 one column. The columns take turns in three places.
template <unsigned kLanes, Fill kFill, unsigned kRows, unsigned kStride, Bytes kBytes>
__attribute__((noinline)) void run_rows(const Plan& plan, const Rows<kLanes>& given) {
  // Copies, because the compiler would read again through references after every store.
  const Rows<kLanes> rows = given;
  const Columns<kBytes> columns = columns_of<kBytes>(plan);
  const std::byte* const packed = plan.packed;
  const __mmask64 mask = plan.mask;
  const std::int64_t in_w = plan.call.in_w;
  const std::int64_t out_w = plan.call.out_w;
  const std::int64_t stride = plan.call.out_pixel_stride;
  auto* const out =
      static_cast<std::uint8_t*>(plan.call.output) + plan.call.block * kDepthwiseBlock;
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(plan.call.zero_pixel[0]));
  std::int64_t at = -plan.call.pad_left;  // the input column of the window's first column
  __m512i column[3][4];
  unroll<3 - kStride>([&](auto j) QTOOL_INLINE {
    interleave_column<kLanes, kFill>(rows, at + j, in_w, mask, zero, column[j]);
  });
  for (std::int64_t x = 0; x < out_w; x += 3) {
    unroll<3>([&](auto turn) QTOOL_INLINE {
      constexpr unsigned kFirst = turn * kStride % 3;
      if (x + turn >= out_w) return;
      unroll<kStride>([&](auto j) QTOOL_INLINE {
        constexpr unsigned kNew = 3 - kStride + j;
        interleave_column<kLanes, kFill>(rows, at + kNew, in_w, mask, zero,
                                         column[(kFirst + kNew) % 3]);
      });
      at += kStride;
      __m512i acc[kRows * 4];
      unroll<kRows * 4>(
          [&](auto i) QTOOL_INLINE { acc[i] = _mm512_loadu_si512(packed + i % 4 * kVector); });
      unroll<3>([&](auto j) QTOOL_INLINE {
        const std::byte* weights = packed + kHeaderBytes + j * kStepBytes;
        unroll<kRows * 4>([&](auto i) QTOOL_INLINE {
          acc[i] = _mm512_dpbusd_epi32(acc[i], column[(kFirst + j) % 3][i % 4],
                                       _mm512_loadu_si512(weights + i * kVector));
        });
      });
      // Otherwise GCC 12 keeps weights of the second row until it knows that this row is stored.
      unroll<kRows * 4>([&](auto i) QTOOL_INLINE { keep(acc[i]); });
      unroll<kRows>([&](auto r) QTOOL_INLINE {
        const std::int64_t pixel = r * out_w + x + turn;
        if constexpr (kBytes != Bytes::kNone) {
          const __m512i bytes = requantize<kBytes>(columns, acc + r * 4);
          unroll<4 / kLanes>([&](auto n) QTOOL_INLINE {
            if (n * kRows + r >= rows.count) return;
            store_part<4 / kLanes, n>(bytes, mask, out + (rows.pixel[n] + pixel) * stride);
          });
        } else {
          const std::int64_t parts = ceil_div(rows.count - r, kRows);
          std::int64_t pixels[4 / kLanes];
          unroll<4 / kLanes>([&](auto n) QTOOL_INLINE { pixels[n] = rows.pixel[n] + pixel; });
          store_reals<kLanes>(plan, acc + r * 4, pixels, parts);
        }
      });
    });
  }
}

template <unsigned kLanes, Fill kFill, unsigned kRows, unsigned kStride>
void run_in_registers(const Plan& plan) {
  const DepthwiseCall& call = plan.call;
  constexpr unsigned kParts = 4 / kLanes;
  for (std::int64_t y = call.row_begin; y < call.row_end; y += kParts * kRows) {
    Rows<kLanes> rows;
    rows.count = call.row_end - y;
    for (unsigned n = 0; n < kParts; ++n) {
      const std::int64_t first = smaller(y + n * kRows, call.row_end - 1);
      rows.quads[n] = quad_of(call, first, kRows, 0);
      rows.pixel[n] = first * call.out_w;
    }
    if (plan.bytes == Bytes::kOnCurve) {
      run_rows<kLanes, kFill, kRows, kStride, Bytes::kOnCurve>(plan, rows);
    } else if (plan.bytes == Bytes::kNone) {
      run_rows<kLanes, kFill, kRows, kStride, Bytes::kNone>(plan, rows);
    } else {
      run_rows<kLanes, kFill, kRows, kStride, Bytes::kFit>(plan, rows);
    }
  }
}

// For windows that are too large for the scratch: computes sum by sum, from the same weights.
void run_slowly(const Plan& plan) {
  const DepthwiseCall& call = plan.call;
  const auto* values = reinterpret_cast<const std::int8_t*>(plan.packed + kHeaderBytes);
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    for (std::int64_t x = 0; x < call.out_w; ++x) {
      alignas(64) std::int32_t sums[kDepthwiseBlock];
      for (std::int64_t at = 0; at < kDepthwiseBlock; ++at) {
        const std::int64_t channel = channel_of(at / 16, at % 16, plan.lanes);
        std::int32_t sum = 0;
        for (std::int64_t step = 0; step < call.terms * plan.steps && channel < plan.channels;
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
      store_rarely<4>(plan, biased, 1, y * call.out_w + x);
    }
  }
}

template <unsigned kLanes, Fill kFill>
void run_filled(const Plan& plan) {
  if (!fits_registers(plan)) return run_block<kLanes, kFill>(plan);
  if (plan.call.stride_h == 2) return run_in_registers<kLanes, kFill, 1, 2>(plan);
  run_in_registers<kLanes, kFill, 2, 1>(plan);
}

template <unsigned kLanes>
void run_lanes(const Plan& plan) {
  if (plan.channels == 16 * kLanes) return run_filled<kLanes, Fill::kWhole>(plan);
  run_filled<kLanes, Fill::kPartial>(plan);
}

void run(const DepthwiseCall& call) {
  Plan plan{call, 0, 0, 0, 0, 0, 0, 0, 0, nullptr, 0, Bytes::kFit, {}};
  if (!make_plan(plan)) return run_slowly(plan);
  switch (plan.lanes) {
    case 1:
      return run_lanes<1>(plan);
    case 2:
      return run_lanes<2>(plan);
    default:
      return run_lanes<4>(plan);
  }
}

}  // namespace

constexpr DepthwiseFunctions depthwise_avx512vnni = {packed_bytes, pack, run, 2};

}  // namespace qtool
