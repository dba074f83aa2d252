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
  const std::int64_t first = offset >= 0 ? 0 : ceil_div(-offset, stride);
  const std::int64_t last = offset >= width ? 0 : (width - offset - 1) / stride + 1;
  const std::int64_t begin = std::clamp(first, x, x + count);
  return {begin - x, std::clamp(last, begin, x + count) - x};
}

// Fills in the pointers of one tap for `count` pixels of one output row.
void fill_tap(const RowGeometry& geometry, const OutputPixel& at, std::int64_t count,
              std::int64_t i, std::int64_t j, const std::uint8_t** to) {
  const ConvShape& shape = geometry.shape;
  const std::int64_t y = at.y * shape.stride_h - shape.pad_top + i * shape.dilation_h;
  const std::int64_t offset = j * shape.dilation_w - shape.pad_left;
  Inside inside{0, 0};
  if (y >= 0 && y < shape.in_h) {
    inside = inside_columns(at.x, count, shape.stride_w, offset, shape.in_w);
  }
  std::fill(to, to + inside.begin, geometry.zero_pixel);
  if (inside.begin < inside.end) {
    const std::int64_t x = (at.x + inside.begin) * shape.stride_w + offset;
    const std::uint8_t* pixel =
        geometry.input + ((at.image * shape.in_h + y) * shape.in_w + x) * shape.in_pixel_stride;
    const std::int64_t step = shape.stride_w * shape.in_pixel_stride;
    for (std::int64_t n = inside.begin; n < inside.end; ++n) {
      to[n] = pixel + (n - inside.begin) * step;
    }
  }
  std::fill(to + inside.end, to + count, geometry.zero_pixel);
}

void fill_indirect(const RowGeometry& geometry, std::int64_t first, std::int64_t count,
                   std::int64_t pitch, const std::uint8_t** table) {
  for (std::int64_t done = 0; done < count;) {
    const OutputPixel at = output_pixel(geometry.shape, first + done);
    const std::int64_t part = std::min(count - done, geometry.shape.out_w - at.x);
    const std::uint8_t** to = table + done;
    for (std::int64_t i = 0; i < geometry.kernel_h; ++i) {
      for (std::int64_t j = 0; j < geometry.kernel_w; ++j, to += pitch) {
        fill_tap(geometry, at, part, i, j, to);
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
  for (std::int64_t i = 0; i < geometry.kernel_h; ++i, table += pitch) {
    std::int64_t y = at.y;
    std::int64_t x = at.x;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t row = (y - at.y) * shape.stride_h + i * shape.dilation_h;
      table[n] = scratch + row * row_bytes + x * shape.stride_w * geometry.in_channels;
      if (++x == shape.out_w) {
        x = 0;
        ++y;
      }
    }
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
