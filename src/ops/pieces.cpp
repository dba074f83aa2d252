#include "ops/pieces.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/round_up.h"
#include "base/saturate.h"

namespace qtool {
namespace {

// The source rows, and the padding around them, that the result rows [rows.begin, rows.end) of one
// image need.
struct SourceRows {
  Range64 range;
  std::int64_t pad_begin;
  std::int64_t pad_end;
};

SourceRows gathered_rows(const Window& window, const Range64& rows, std::int64_t height) {
  const std::int64_t extent = (window.kernel[0] - 1) * window.dilations[0] + 1;
  const std::int64_t first = rows.begin * window.strides[0] - window.pads_begin[0];
  const std::int64_t last = (rows.end - 1) * window.strides[0] - window.pads_begin[0] + extent;
  const Range64 range{std::max<std::int64_t>(first, 0), std::min(last, height)};
  return {range, range.begin - first, last - range.end};
}

SourceRows scattered_rows(const Window& window, const Range64& rows, std::int64_t height) {
  const std::int64_t stride = window.strides[0];
  const std::int64_t extent = (window.kernel[0] - 1) * window.dilations[0] + 1;
  const std::int64_t first = rows.begin + window.pads_begin[0];  // relative to source row 0
  const std::int64_t last = rows.end - 1 + window.pads_begin[0];
  // The first source row that reaches into the range. If it begins behind the start of the range, a
  // row that begins before the start is taken, because oneDNN accepts no negative padding in front.
  const std::int64_t reaching = std::max<std::int64_t>(0, ceil_div(first - extent + 1, stride));
  const Range64 range{std::min(reaching, first / stride), std::min(last / stride + 1, height)};
  return {range, first - range.begin * stride, (range.end - 1) * stride + extent - last - 1};
}

// The piece that computes the rows [rows.begin, rows.end) of one image's result. Nothing when no
// source row contributes to them.
std::optional<WindowPiece> rows_of(const Shape& source, const Shape& destination,
                                   const Window& window, const Range64& rows, WindowUse use) {
  const std::int64_t height = source[2];
  const SourceRows needed = use == WindowUse::kGather ? gathered_rows(window, rows, height)
                                                      : scattered_rows(window, rows, height);
  const auto [begin, end] = needed.range;
  if (begin >= end) return std::nullopt;
  const auto with_rows = [](const Shape& shape, std::int64_t count) {
    std::vector<std::int64_t> dims = shape.dims();
    dims[0] = 1;
    dims[2] = count;
    return Shape(std::move(dims));
  };
  WindowPiece piece{with_rows(source, end - begin), with_rows(destination, rows.end - rows.begin),
                    window, 0, 0};
  piece.window.pads_begin[0] = needed.pad_begin;
  piece.window.pads_end[0] = needed.pad_end;
  piece.window.output[0] = rows.end - rows.begin;
  piece.source_offset = begin * (source.elements() / (source[0] * height));
  piece.destination_offset =
      rows.begin * (destination.elements() / (destination[0] * destination[2]));
  return piece;
}

// The piece that computes `pixels`, counted over all images, as one row of an image.
WindowPiece pixels_of(const Shape& source, const Shape& destination, const Window& window,
                      const Range64& pixels) {
  const std::size_t axes = window.kernel.size();
  const auto as_row = [&](const Shape& shape) {
    std::vector<std::int64_t> dims(axes + 2, 1);
    dims[1] = shape[1];
    dims.back() = pixels.end - pixels.begin;
    return Shape(std::move(dims));
  };
  WindowPiece piece{as_row(source), as_row(destination), window, pixels.begin * source[1],
                    pixels.begin * destination[1]};
  piece.window.output.assign(axes, 1);
  piece.window.output.back() = pixels.end - pixels.begin;
  return piece;
}

// Divides an operation into about `parts` pieces. divide_window() then divides long pieces further.
std::vector<WindowPiece> divide_work(const Shape& source, const Shape& destination,
                                     const Window& window, Layout layout, std::int64_t parts,
                                     WindowUse use) {
  const std::vector<WindowPiece> whole{{source, destination, window, 0, 0}};
  if (parts <= 1) return whole;

  std::vector<WindowPiece> pieces;
  const bool together = layout == Layout::kChannelsLast;
  const bool rows_divide = source[0] == 1 && destination[2] % parts == 0;
  if (together && is_pointwise(window) && !rows_divide) {
    const std::int64_t pixels = source.elements() / source[1];
    for (const Range64& range : divide_evenly(pixels, parts)) {
      pieces.push_back(pixels_of(source, destination, window, range));
    }
    return pieces;
  }
  const std::int64_t images = source[0];
  const std::int64_t per_image = together ? ceil_div(parts, images) : 1;
  if (images % parts == 0 || per_image == 1) {
    for (const Range64& range : divide_evenly(images, parts)) {
      const auto some = [&](const Shape& shape) {
        std::vector<std::int64_t> dims = shape.dims();
        dims[0] = range.end - range.begin;
        return Shape(std::move(dims));
      };
      pieces.push_back({some(source), some(destination), window,
                        range.begin * (source.elements() / images),
                        range.begin * (destination.elements() / images)});
    }
    return pieces;
  }
  for (std::int64_t image = 0; image < images; ++image) {
    for (const Range64& rows : divide_evenly(destination[2], per_image)) {
      std::optional<WindowPiece> piece = rows_of(source, destination, window, rows, use);
      if (!piece) return whole;
      piece->source_offset += image * (source.elements() / images);
      piece->destination_offset += image * (destination.elements() / images);
      pieces.push_back(std::move(*piece));
    }
  }
  return pieces;
}

}  // namespace

bool is_pointwise(const Window& window) {
  const auto all = [](const std::vector<std::int64_t>& values, std::int64_t wanted) {
    return std::ranges::all_of(values, [&](std::int64_t value) { return value == wanted; });
  };
  return all(window.kernel, 1) && all(window.strides, 1) && all(window.pads_begin, 0) &&
         all(window.pads_end, 0);
}

std::vector<Range64> divide_evenly(std::int64_t count, std::int64_t parts, std::int64_t unit) {
  const std::int64_t units = ceil_div(count, unit);
  parts = std::min(units, parts);
  std::vector<Range64> ranges;
  for (std::int64_t part = 0; part < parts; ++part) {
    ranges.push_back(
        {units * part / parts * unit, std::min(count, units * (part + 1) / parts * unit)});
  }
  return ranges;
}

std::int64_t parts_of(std::int64_t operations, std::int64_t longest) {
  constexpr std::int64_t kMostParts = 1024;
  return std::clamp<std::int64_t>((operations - 1) / longest + 1, 1, kMostParts);
}

std::vector<WindowPiece> divide_window(const Shape& source, const Shape& destination,
                                       const Window& window, Layout layout, std::int64_t operations,
                                       int threads, WindowUse use, std::int64_t longest) {
  constexpr std::int64_t kWorthDividing = 1 << 15;  // a microsecond or two
  std::vector<WindowPiece> pieces =
      divide_work(source, destination, window, layout,
                  operations < kWorthDividing ? 1 : std::max(threads, 1), use);
  if (operations / longest < std::ssize(pieces)) return pieces;
  std::vector<WindowPiece> parts;
  const std::int64_t each = operations / destination.elements();  // per element of the result
  for (const WindowPiece& piece : pieces) {
    const std::int64_t wanted =
        parts_of(saturating_product(piece.destination.elements(), each), longest);
    for (WindowPiece& part :
         divide_work(piece.source, piece.destination, piece.window, layout, wanted, use)) {
      part.source_offset += piece.source_offset;
      part.destination_offset += piece.destination_offset;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace qtool
