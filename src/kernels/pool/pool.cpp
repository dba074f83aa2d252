#include "kernels/pool/pool.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr KernelRow<PoolFunctions> kPoolRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &pool_##name},
#include "kernels/pool/pool.inc"
#undef QTOOL_KERNEL
};

constexpr std::int64_t kMaxTaps = std::int64_t{1} << 23;  // 255 times this fits int32
constexpr std::int64_t kSmall = 16 << 10;  // window bytes below which a second thread does not pay
constexpr std::int64_t kChannelBlock = 64;

PoolShape checked(PoolShape shape) {
  if (shape.in_pixel_stride == 0) shape.in_pixel_stride = shape.channels;
  if (shape.out_pixel_stride == 0) shape.out_pixel_stride = shape.channels;
  const bool extents = shape.batch >= 0 && shape.channels >= 0 && shape.in_h >= 0 &&
                       shape.in_w >= 0 && shape.out_h >= 0 && shape.out_w >= 0;
  const bool steps = shape.kernel_h > 0 && shape.kernel_w > 0 && shape.stride_h > 0 &&
                     shape.stride_w > 0 && shape.dilation_h > 0 && shape.dilation_w > 0 &&
                     shape.in_pixel_stride >= shape.channels &&
                     shape.out_pixel_stride >= shape.channels;
  if (!extents || !steps) {
    throw Error(ErrorCode::kInvalidArgument,
                "pooling: an extent is negative, or a kernel, stride or dilation is too small");
  }
  return shape;
}

// The taps of one axis that lie inside the image, and how many lie inside the padded image.
struct Taps {
  std::int64_t begin, end, padded;
};

Taps taps_of(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t extent,
             std::int64_t pad_end) {
  const auto below = [&](std::int64_t limit) {  // taps at a position less than `limit`
    return std::clamp(ceil_div(limit - start, dilation), std::int64_t{0}, kernel);
  };
  const std::int64_t begin = start >= 0 ? 0 : std::min(kernel, ceil_div(-start, dilation));
  return {begin, std::max(begin, below(extent)), below(extent + pad_end)};
}

bool operator==(const Taps& a, const Taps& b) {
  return a.begin == b.begin && a.end == b.end && a.padded == b.padded;
}

// Calls `finish(call, padded)` for each contiguous group of pixels of one output row whose windows
// have the same taps inside the image. `padded` is the number of taps inside the padded image.
template <typename Finish>
void for_each_run(const PoolShape& shape, std::int64_t image, std::int64_t y,
                  std::vector<std::int64_t>& offsets, const std::uint8_t* in, std::uint8_t* out,
                  const Finish& finish) {
  const std::int64_t top = y * shape.stride_h - shape.pad_top;
  const Taps rows = taps_of(top, shape.kernel_h, shape.dilation_h, shape.in_h, shape.pad_bottom);
  const auto columns_of = [&](std::int64_t x) {
    return taps_of(x * shape.stride_w - shape.pad_left, shape.kernel_w, shape.dilation_w,
                   shape.in_w, shape.pad_right);
  };
  StopPace pace;
  for (std::int64_t x = 0; x < shape.out_w;) {
    const Taps columns = columns_of(x);
    std::int64_t end = x + 1;
    while (end < shape.out_w && columns_of(end) == columns) ++end;
    offsets.clear();
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      pace.step(columns.end - columns.begin);
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        offsets.push_back(((i - rows.begin) * shape.dilation_h * shape.in_w +
                           (j - columns.begin) * shape.dilation_w) *
                          shape.in_pixel_stride);
      }
    }
    PoolCall call;
    call.taps = static_cast<std::int64_t>(offsets.size());
    if (call.taps > 0) {
      const std::int64_t in_y = top + rows.begin * shape.dilation_h;
      const std::int64_t in_x =
          x * shape.stride_w - shape.pad_left + columns.begin * shape.dilation_w;
      call.base = in + ((image * shape.in_h + in_y) * shape.in_w + in_x) * shape.in_pixel_stride;
    }
    call.offsets = offsets.data();
    call.pixels = end - x;
    call.in_step = shape.stride_w * shape.in_pixel_stride;
    call.out = out + ((image * shape.out_h + y) * shape.out_w + x) * shape.out_pixel_stride;
    call.out_step = shape.out_pixel_stride;
    finish(call, rows.padded * columns.padded);
    x = end;
  }
}

// Splits `call` into parts and calls `finish(part)` for each, so that a long run can be stopped
// between two parts. A part has some of the pixels, and only some of the channels where a single
// window is large.
template <typename Finish>
void for_each_look(const PoolCall& call, const Finish& finish) {
  constexpr std::int64_t kReads = 1 << 24;
  StopPace pace;
  const std::int64_t taps = std::max<std::int64_t>(call.taps, 1);
  const std::int64_t fitting = kReads / taps / kChannelBlock * kChannelBlock;
  const std::int64_t channels = std::min(call.channels, std::max(kChannelBlock, fitting));
  const std::int64_t pixels = std::max<std::int64_t>(1, kReads / taps / channels);
  for (std::int64_t p = 0; p < call.pixels; p += pixels) {
    for (std::int64_t c = 0; c < call.channels; c += channels) {
      PoolCall part = call;
      part.pixels = std::min(pixels, call.pixels - p);
      part.channels = std::min(channels, call.channels - c);
      if (call.taps > 0) part.base += p * call.in_step + c;
      part.out += p * call.out_step + c;
      pace.step(part.pixels * taps * ceil_div(part.channels, kChannelBlock));
      finish(part);
    }
  }
}

// Splits rows between threads, or channels where there are few rows.
template <typename Finish>
void for_each_part(const PoolShape& shape, const std::uint8_t* in, std::uint8_t* out, int threads,
                   const Finish& finish) {
  const std::int64_t rows = shape.batch * shape.out_h;
  const double bytes = static_cast<double>(rows * shape.out_w * shape.channels) *
                       static_cast<double>(shape.kernel_h) * static_cast<double>(shape.kernel_w);
  if (rows == 0 || shape.out_w == 0 || shape.channels == 0) return;
  if (bytes < kSmall) threads = 1;
  const bool by_rows = rows >= 4 * threads;
  const std::int64_t parts = by_rows ? rows : ceil_div(shape.channels, kChannelBlock);
  parallel_ranges(parts, threads, [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
    const std::int64_t first = by_rows ? 0 : begin * kChannelBlock;
    const std::int64_t last =
        by_rows ? shape.channels : std::min(shape.channels, end * kChannelBlock);
    std::vector<std::int64_t> offsets;
    for (std::int64_t row = by_rows ? begin : 0; row < (by_rows ? end : rows); ++row) {
      for_each_run(shape, row / shape.out_h, row % shape.out_h, offsets, in + first, out + first,
                   [&](PoolCall& call, std::int64_t padded) {
                     call.channels = last - first;
                     for_each_look(call, [&](PoolCall& part) { finish(part, padded); });
                   });
    }
  });
}

void fill(const PoolCall& call, std::uint8_t value) {
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    std::fill_n(call.out + p * call.out_step, call.channels, value);
  }
}

}  // namespace

std::span<const KernelRow<PoolFunctions>> pool_kernels() noexcept { return kPoolRows; }

void PoolKernel::max(const PoolShape& shape, const std::uint8_t* in, std::uint8_t* out,
                     int threads) const {
  for_each_part(checked(shape), in, out, threads, [&](const PoolCall& call, std::int64_t) {
    if (call.taps == 0) {
      fill(call, 0);
    } else {
      row_->functions->max(call);
    }
  });
}

void PoolKernel::average(const PoolShape& shape, const AverageParams& params,
                         const std::uint8_t* in, std::uint8_t* out, int threads) const {
  const PoolShape known = checked(shape);
  const std::int64_t most_rows = std::min(known.kernel_h, known.in_h);
  const std::int64_t most_columns = std::min(known.kernel_w, known.in_w);
  if (most_columns > 0 && most_rows > kMaxTaps / most_columns) {
    throw Error(ErrorCode::kUnsupported, "pooling: a mean of more than 2^23 pixels");
  }
  for_each_part(known, in, out, threads, [&](PoolCall& call, std::int64_t padded) {
    const std::int64_t count = params.count_padding == CountPadding::kInclude ? padded : call.taps;
    call.offset = static_cast<std::int32_t>(call.taps) * params.zx;
    call.multiplier = count == 0 ? 0.0F : params.m / static_cast<float>(count);
    call.zero_point = params.zy;
    call.low = params.low;
    call.high = params.high;
    if (call.taps == 0) {
      fill(call, static_cast<std::uint8_t>(std::clamp(params.zy, params.low, params.high)));
    } else {
      row_->functions->average(call);
    }
  });
}

}  // namespace qtool
