#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/round_up.h"
#include "base/stop.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace qtool {

/// A pooling over any number of spatial axes in plain loops, for cases that oneDNN does not
/// support. Exact, but not fast.
class WindowLoop {
 public:
  /// For the windows `window` over `source` [N, C, spatial...].
  WindowLoop(const Shape& source, Layout source_layout, const Window& window, Layout result_layout)
      : source_(source), window_(window), from_(strides_of(source, source_layout)) {
    std::vector<std::int64_t> dims{source[0], source[1]};
    dims.insert(dims.end(), window.output.begin(), window.output.end());
    result_ = Shape(std::move(dims));
    to_ = strides_of(result_, result_layout);
  }

  /// One input element under a window.
  struct Tap {
    std::int64_t offset;                     ///< in the memory of the source
    const std::vector<std::int64_t>& place;  ///< its spatial coordinates
  };

  /// Calls `result(plane, offset, visit)` for each window. `visit(use)` calls `use(Tap)` for the
  /// elements under the window that are not padding, in the order of memory. `plane` is the index
  /// of the plane, counted over all images and channels. `offset` is the position of the window's
  /// result in memory.
  template <typename Result>
  void run(int threads, const Result& result) const {
    const std::int64_t planes = source_[0] * source_[1];
    std::int64_t pixels = 1;
    for (const std::int64_t extent : window_.output) pixels *= extent;
    if (planes * pixels < kParallelElements) threads = 1;
    parallel_ranges(planes * pixels, threads, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<std::int64_t> index(window_.output.size());
      std::vector<std::int64_t> place(index.size());
      StopPace pace;
      for (std::int64_t i = begin; i < end; ++i) {
        pace.step();
        const std::int64_t plane = i / pixels;
        const std::int64_t n = plane / source_[1];
        const std::int64_t c = plane % source_[1];
        std::int64_t rest = i % pixels;
        std::int64_t to = n * to_[0] + c * to_[1];
        for (std::size_t axis = index.size(); axis-- > 0;) {
          index[axis] = rest % window_.output[axis];
          rest /= window_.output[axis];
          to += index[axis] * to_[axis + 2];
        }
        const std::int64_t from = n * from_[0] + c * from_[1];
        result(plane, to, [&](const auto& use) { visit(index, from, 0, place, pace, use); });
      }
    });
  }

 private:
  template <typename Use>
  void visit(const std::vector<std::int64_t>& index, std::int64_t offset, std::size_t axis,
             std::vector<std::int64_t>& place, StopPace& pace, const Use& use) const {
    if (axis == index.size()) return use(Tap{offset, place});
    const std::int64_t first = index[axis] * window_.strides[axis] - window_.pads_begin[axis];
    const std::int64_t step = window_.dilations[axis];
    const std::int64_t extent = source_[static_cast<std::int64_t>(axis) + 2];
    // Skips the padding at once, because most of a large window may lie in it.
    const std::int64_t begin = first < 0 ? ceil_div(-first, step) : 0;
    const std::int64_t end =
        std::min(first < extent ? (extent - 1 - first) / step + 1 : 0, window_.kernel[axis]);
    pace.step(std::max<std::int64_t>(end - begin, 0));
    for (std::int64_t tap = begin; tap < end; ++tap) {
      place[axis] = first + tap * step;
      visit(index, offset + place[axis] * from_[axis + 2], axis + 1, place, pace, use);
    }
  }

  Shape source_;
  Shape result_;
  Window window_;
  std::vector<std::int64_t> from_;
  std::vector<std::int64_t> to_;
};

}  // namespace qtool
