#include "kernels/conv/dense_rows.h"

#include <algorithm>
#include <cstring>

#include "base/round_up.h"

namespace qtool {
namespace {

struct OutputPixel {
  std::int64_t image, y, x;
};

OutputPixel output_pixel(const ConvShape& shape, std::int64_t pixel) {
  const std::int64_t area = shape.out_h * shape.out_w;
  const std::int64_t inside = pixel % area;
  return {pixel / area, inside / shape.out_w, inside % shape.out_w};
}

// The part of the output columns [x, x + count) whose input column, column * stride + offset, is in
// [0, width). `begin` and `end` count from x.
struct Inside {
  std::int64_t begin, end;
};

Inside inside_columns(std::int64_t x, std::int64_t count, std::int64_t stride, std::int64_t offset,
                      std::int64_t width) {
  const auto divided = [stride](std::int64_t n) { return stride == 1 ? n : n / stride; };
  const std::int64_t first = offset >= 0 ? 0 : divided(-offset + stride - 1);
  const std::int64_t last = offset >= width ? 0 : divided(width - offset - 1) + 1;
  const std::int64_t begin = std::clamp(first, x, x + count);
  return {begin - x, std::clamp(last, begin, x + count) - x};
}

// Pointers to `count` pixels that are `step` bytes apart. Vectors of addresses, because compilers
// do not make them from a loop over pointers.
void fill_line(const std::uint8_t* pixel, std::int64_t step, std::int64_t count,
               const std::uint8_t** to) {
  static_assert(sizeof(std::uintptr_t) == 8);
  using Pair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = std::uintptr_t;
  const auto first = reinterpret_cast<std::uintptr_t>(pixel);
  const auto by = static_cast<std::uintptr_t>(step);
  Pair even = {first, first + by};
  Pair odd = even + 2 * by;
  const Pair next = {4 * by, 4 * by};
  std::int64_t n = 0;
  for (; n + 4 <= count; n += 4, even += next, odd += next) {
    *reinterpret_cast<Pair*>(to + n) = even;
    *reinterpret_cast<Pair*>(to + n + 2) = odd;
  }
  for (; n < count; ++n) to[n] = pixel + n * step;
}

// Fills in the pointers of one tap for `count` pixels of one output row. `inside`: those whose tap
// lies in the input's columns; `offset`: the tap's first column.
void fill_tap(const RowGeometry& geometry, const OutputPixel& at, std::int64_t count,
              std::int64_t i, std::int64_t offset, Inside inside, const std::uint8_t** to) {
  const ConvShape& shape = geometry.shape;
  const std::int64_t y = at.y * shape.stride_h - shape.pad_top + i * shape.dilation_h;
  if (y < 0 || y >= shape.in_h) inside = {0, 0};
  std::fill(to, to + inside.begin, geometry.zero_pixel);
  if (inside.begin < inside.end) {
    const std::int64_t x = (at.x + inside.begin) * shape.stride_w + offset;
    const std::uint8_t* pixel =
        geometry.input + ((at.image * shape.in_h + y) * shape.in_w + x) * shape.in_pixel_stride;
    fill_line(pixel, shape.stride_w * shape.in_pixel_stride, inside.end - inside.begin,
              to + inside.begin);
  }
  std::fill(to + inside.end, to + count, geometry.zero_pixel);
}

void fill_indirect(const RowGeometry& geometry, std::int64_t first, std::int64_t count,
                   std::int64_t pitch, const std::uint8_t** table) {
  const ConvShape& shape = geometry.shape;
  for (std::int64_t done = 0; done < count;) {
    const OutputPixel at = output_pixel(shape, first + done);
    const std::int64_t part = std::min(count - done, shape.out_w - at.x);
    for (std::int64_t j = 0; j < geometry.kernel_w; ++j) {
      const std::int64_t offset = j * shape.dilation_w - shape.pad_left;
      const Inside inside = inside_columns(at.x, part, shape.stride_w, offset, shape.in_w);
      for (std::int64_t i = 0; i < geometry.kernel_h; ++i) {
        const std::uint8_t** to = table + (i * geometry.kernel_w + j) * pitch + done;
        fill_tap(geometry, at, part, i, offset, inside, to);
      }
    }
    done += part;
  }
}

// Copies input columns [x, x + count) of row y, padding included; `to` is tightly packed.
void copy_columns(const RowGeometry& geometry, std::int64_t image, std::int64_t y, std::int64_t x,
                  std::int64_t count, std::uint8_t* to) {
  const ConvShape& shape = geometry.shape;
  const std::int64_t channels = geometry.in_channels;
  const bool row_exists = y >= 0 && y < shape.in_h;
  const std::int64_t begin = row_exists ? std::clamp(-x, std::int64_t{0}, count) : count;
  const std::int64_t end = row_exists ? std::clamp(shape.in_w - x, begin, count) : count;
  const auto pad = [&](std::int64_t from, std::int64_t until) {
    std::memset(to + from * channels, geometry.zero_point,
                static_cast<std::size_t>((until - from) * channels));
  };
  pad(0, begin);
  if (begin < end) {
    const std::uint8_t* from =
        geometry.input +
        ((image * shape.in_h + y) * shape.in_w + x + begin) * shape.in_pixel_stride;
    if (shape.in_pixel_stride == channels) {
      std::memcpy(to + begin * channels, from, static_cast<std::size_t>((end - begin) * channels));
    } else {
      for (std::int64_t n = begin; n < end; ++n, from += shape.in_pixel_stride) {
        std::memcpy(to + n * channels, from, static_cast<std::size_t>(channels));
      }
    }
  }
  pad(end, count);
}

std::int64_t strip_columns(const RowGeometry& geometry) {
  return (geometry.shape.out_w - 1) * geometry.shape.stride_w + geometry.kernel_w;
}

std::int64_t strip_rows(const RowGeometry& geometry, std::int64_t out_rows) {
  return (out_rows - 1) * geometry.shape.stride_h +
         (geometry.kernel_h - 1) * geometry.shape.dilation_h + 1;
}

void fill_strip(const RowGeometry& geometry, std::int64_t first, std::int64_t count,
                std::int64_t pitch, const std::uint8_t** table, std::uint8_t* scratch) {
  const ConvShape& shape = geometry.shape;
  const OutputPixel at = output_pixel(shape, first);
  const std::int64_t last_y = output_pixel(shape, first + count - 1).y;
  const std::int64_t columns = strip_columns(geometry);
  const std::int64_t row_bytes = columns * geometry.in_channels;
  const std::int64_t rows = strip_rows(geometry, last_y - at.y + 1);
  const std::int64_t top = at.y * shape.stride_h - shape.pad_top;
  for (std::int64_t row = 0; row < rows; ++row) {
    copy_columns(geometry, at.image, top + row, -shape.pad_left, columns,
                 scratch + row * row_bytes);
  }
  const std::int64_t step = shape.stride_w * geometry.in_channels;
  for (std::int64_t done = 0; done < count;) {
    const OutputPixel to = output_pixel(shape, first + done);
    const std::int64_t part = std::min(count - done, shape.out_w - to.x);
    const std::int64_t row = (to.y - at.y) * shape.stride_h;
    const std::uint8_t* from = scratch + row * row_bytes + to.x * step;
    for (std::int64_t i = 0; i < geometry.kernel_h; ++i) {
      fill_line(from, step, part, table + i * pitch + done);
      from += shape.dilation_h * row_bytes;
    }
    done += part;
  }
}

std::int64_t patch_bytes(const RowGeometry& geometry) {
  return geometry.kernel_h * geometry.row_bytes;
}

void point_at_patches(const RowGeometry& geometry, std::int64_t count, std::int64_t pitch,
                      const std::uint8_t** table, const std::uint8_t* scratch) {
  for (std::int64_t i = 0; i < geometry.kernel_h; ++i, table += pitch) {
    for (std::int64_t n = 0; n < count; ++n) {
      table[n] = scratch + n * patch_bytes(geometry) + i * geometry.row_bytes;
    }
  }
}

}  // namespace

RowMode choose_row_mode(const ConvShape& shape, TapKind kind, std::int64_t groups) {
  if (kind == TapKind::kPixel) return RowMode::kIndirect;
  return groups == 1 && shape.dilation_w == 1 ? RowMode::kStrip : RowMode::kPatches;
}

std::int64_t scratch_bytes(const RowGeometry& geometry, RowMode mode, std::int64_t pixels) {
  switch (mode) {
    case RowMode::kStrip: {
      const std::int64_t most =
          std::min(geometry.shape.out_h, ceil_div(pixels - 1, geometry.shape.out_w) + 1);
      // A row of fewer bytes than a group is read as a group.
      return strip_rows(geometry, most) * strip_columns(geometry) * geometry.in_channels +
             geometry.row_bytes;
    }
    case RowMode::kPatches:
      return pixels * patch_bytes(geometry);
    case RowMode::kIndirect:
      break;
  }
  return 0;
}

void fill_rows(const RowGeometry& geometry, RowMode mode, std::int64_t first, std::int64_t count,
               std::int64_t pitch, const std::uint8_t** table, std::uint8_t* scratch) {
  std::int64_t taps = geometry.kernel_h;
  switch (mode) {
    case RowMode::kIndirect:
      taps *= geometry.kernel_w;
      fill_indirect(geometry, first, count, pitch, table);
      break;
    case RowMode::kStrip:
      fill_strip(geometry, first, count, pitch, table, scratch);
      break;
    case RowMode::kPatches:
      point_at_patches(geometry, count, pitch, table, scratch);
      break;
  }
  for (std::int64_t term = 1; term < geometry.terms; ++term) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::copy_n(table + tap * pitch, count, table + (term * taps + tap) * pitch);
    }
  }
}

void copy_patches(const RowGeometry& geometry, std::int64_t group, std::int64_t first,
                  std::int64_t count, std::uint8_t* scratch) {
  const ConvShape& shape = geometry.shape;
  const std::int64_t channels = geometry.group_channels;
  for (std::int64_t n = 0; n < count; ++n) {
    const OutputPixel at = output_pixel(shape, first + n);
    for (std::int64_t i = 0; i < geometry.kernel_h; ++i) {
      std::uint8_t* to = scratch + n * patch_bytes(geometry) + i * geometry.row_bytes;
      const std::int64_t y = at.y * shape.stride_h - shape.pad_top + i * shape.dilation_h;
      for (std::int64_t j = 0; j < geometry.kernel_w; ++j, to += channels) {
        const std::int64_t x = at.x * shape.stride_w - shape.pad_left + j * shape.dilation_w;
        const bool inside = y >= 0 && y < shape.in_h && x >= 0 && x < shape.in_w;
        const std::uint8_t* from =
            inside ? geometry.input +
                         ((at.image * shape.in_h + y) * shape.in_w + x) * shape.in_pixel_stride +
                         group * channels
                   : geometry.zero_pixel;
        std::copy_n(from, channels, to);
      }
    }
  }
}

}  // namespace qtool
