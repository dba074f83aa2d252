#pragma once

#include <cstdint>
#include <vector>

#include "ops/spatial.h"

namespace qtool {

/// A part of a convolution or pooling that one thread computes: the same operation on some of the
/// images, or on some rows of one image.
struct WindowPiece {
  Shape source;
  Shape destination;
  Window window;
  std::int64_t source_offset = 0;       ///< where the piece begins in the source
  std::int64_t destination_offset = 0;  ///< where the piece begins in the result
};

/// Whether each window is one element, at the place of its result: 1x1, stride 1, no padding.
bool is_pointwise(const Window& window);

/// The direction in which the windows of an operation work.
enum class WindowUse : std::uint8_t {
  kGather,   ///< an element of the result reads a window of the source: convolution, pooling
  kScatter,  ///< an element of the source adds to a window of the result: transposed convolution
};

/// The number of multiplications after which a long run checks whether it must stop: some tenths of
/// a second of work.
inline constexpr std::int64_t kLongestCall = std::int64_t{1} << 33;

/// Divides an operation from `source` [N, C, spatial...] to `destination` [N, M, spatial...] into
/// at most `threads` pieces (more where images do not divide evenly) of about equal work. A piece
/// is dense in memory, so rows are divided where the layout keeps them together: channels-last.
/// Pointwise windows are divided by pixels. The result is one piece
/// when `operations` (multiplications or reads) are too few, or when the operation cannot be
/// divided.
/// Pieces of more than `longest` operations are divided further, by images and rows, so that a long
/// run can be stopped between them.
std::vector<WindowPiece> divide_window(const Shape& source, const Shape& destination,
                                       const Window& window, Layout layout, std::int64_t operations,
                                       int threads, WindowUse use = WindowUse::kGather,
                                       std::int64_t longest = kLongestCall);

/// The number of parts of about `longest` operations each that `operations` are divided into. At
/// most 1024, because each part is prepared before it runs.
std::int64_t parts_of(std::int64_t operations, std::int64_t longest = kLongestCall);

/// The range [begin, end).
struct Range64 {
  std::int64_t begin;
  std::int64_t end;
};
/// Consecutive ranges that cover [0, count), none empty, at most `parts`. All begin at multiples of
/// `unit`.
std::vector<Range64> divide_evenly(std::int64_t count, std::int64_t parts, std::int64_t unit = 1);

}  // namespace qtool
