#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Below this many elements an operator runs on one thread: handing out work would cost more.
inline constexpr std::int64_t kParallelElements = 32768;

/// Elements between neighbours along each axis of a dense tensor, in ONNX's axis order. Only rank-4
/// tensors are ever channels-last. All zero when the tensor is empty.
std::vector<std::int64_t> strides_of(const Shape& shape, Layout layout);

/// Elements between neighbours along one axis.
inline std::int64_t stride_of(const Shape& shape, Layout layout, std::int64_t axis) {
  return strides_of(shape, layout)[static_cast<std::size_t>(axis)];
}

/// Calls use(T{}) with the unsigned integer T of `element_bytes` bytes, for work that only moves
/// elements.
template <typename Use>
auto with_element_of(std::int64_t element_bytes, const Use& use) {
  switch (element_bytes) {
    case 1:
      return use(std::uint8_t{});
    case 2:
      return use(std::uint16_t{});
    case 4:
      return use(std::uint32_t{});
    default:
      QTOOL_CHECK(element_bytes == 8);
      return use(std::uint64_t{});
  }
}

/// Strides of a tensor that is repeated to the larger shape `target` by NumPy's rules: 0 along the
/// axes on which it is repeated. `shape` must be broadcastable to `target`.
std::vector<std::int64_t> broadcast_strides(const Shape& shape, Layout layout, const Shape& target);

/// The most axes that a loop nest can have after merging adjacent axes.
inline constexpr std::size_t kMaxLoops = 12;

namespace detail {
struct LoopAxes {
  std::vector<std::int64_t> extents;
  std::vector<std::vector<std::int64_t>> strides;  // per operand
  std::int64_t total = 1;
};
/// Drops axes of extent 1, sorts the others by the step of operand 0 (its memory order), and merges
/// adjacent axes that all operands traverse with a constant step.
LoopAxes plan_loops(const std::vector<std::int64_t>& extents,
                    const std::vector<std::vector<std::int64_t>>& strides);
}  // namespace detail

/// A loop over a box of elements that K operands access through strides, ordered so that operand 0
/// is traversed in the order of its memory. Element-wise results do not depend on how the box is
/// divided.
template <std::size_t K>
class LoopNest {
 public:
  using Offsets = std::array<std::int64_t, K>;

  /// `extents` of the box and, per operand, its step along each axis.
  LoopNest(const std::vector<std::int64_t>& extents,
           const std::array<std::vector<std::int64_t>, K>& strides) {
    const detail::LoopAxes plan = detail::plan_loops(extents, {strides.begin(), strides.end()});
    total_ = plan.total;
    loops_ = plan.extents.size();
    for (std::size_t axis = 0; axis < loops_; ++axis) {
      extents_[axis] = plan.extents[axis];
      for (std::size_t k = 0; k < K; ++k) steps_[axis][k] = plan.strides[k][axis];
    }
  }

  [[nodiscard]] std::int64_t total() const { return total_; }
  /// The number of loops, at least 1; the innermost is the last.
  [[nodiscard]] std::size_t loops() const { return loops_; }
  [[nodiscard]] std::int64_t extent(std::size_t loop) const { return extents_[loop]; }
  /// Step of operand `k` along a loop.
  [[nodiscard]] std::int64_t step(std::size_t loop, std::size_t k) const { return steps_[loop][k]; }
  [[nodiscard]] std::int64_t inner_extent() const { return extents_[loops_ - 1]; }
  /// Step of operand `k` along the innermost loop.
  [[nodiscard]] std::int64_t inner_step(std::size_t k) const { return steps_[loops_ - 1][k]; }

  /// The nest without its innermost loop, in which the loop `innermost` becomes the innermost.
  /// Takes a nest of at least two loops and a loop that is not the innermost.
  [[nodiscard]] LoopNest without_inner(std::size_t innermost) const {
    LoopNest outer = *this;
    outer.loops_ = loops_ - 1;
    outer.total_ = total_ == 0 ? 0 : total_ / inner_extent();
    std::rotate(outer.extents_.begin() + innermost, outer.extents_.begin() + innermost + 1,
                outer.extents_.begin() + outer.loops_);
    std::rotate(outer.steps_.begin() + innermost, outer.steps_.begin() + innermost + 1,
                outer.steps_.begin() + outer.loops_);
    return outer;
  }

  /// Calls `body(count, offsets)` for parts of the innermost loop that cover the elements [begin,
  /// end) of the box; operand k starts at offsets[k] and advances by inner_step(k).
  template <typename Body>
  void run_range(std::int64_t begin, std::int64_t end, const Body& body) const {
    const std::size_t inner = loops_ - 1;
    std::array<std::int64_t, kMaxLoops> index{};
    Offsets at{};
    std::int64_t rest = begin;
    for (std::size_t axis = loops_; axis-- > 0;) {
      index[axis] = rest % extents_[axis];
      rest /= extents_[axis];
      for (std::size_t k = 0; k < K; ++k) at[k] += index[axis] * steps_[axis][k];
    }
    std::int64_t skipped = index[inner];
    StopPace pace;
    while (begin < end) {
      const std::int64_t count =
          extents_[inner] - skipped < end - begin ? extents_[inner] - skipped : end - begin;
      // In pieces, so that a loop over billions of elements can be stopped.
      Offsets piece = at;
      for (std::int64_t done = 0; done < count; done += kPiece) {
        const std::int64_t some = count - done < kPiece ? count - done : kPiece;
        body(some, piece);
        pace.step(some);
        for (std::size_t k = 0; k < K; ++k) piece[k] += some * steps_[inner][k];
      }
      begin += count;
      for (std::size_t k = 0; k < K; ++k) at[k] -= skipped * steps_[inner][k];
      skipped = 0;
      for (std::size_t axis = inner; axis-- > 0;) {
        for (std::size_t k = 0; k < K; ++k) at[k] += steps_[axis][k];
        if (++index[axis] < extents_[axis]) break;
        for (std::size_t k = 0; k < K; ++k) at[k] -= extents_[axis] * steps_[axis][k];
        index[axis] = 0;
      }
    }
  }

  /// run_range over the whole box, divided among `threads` when it is large. `width`: elements that
  /// the body handles for each element of the box.
  template <typename Body>
  void run(int threads, const Body& body, std::int64_t width = 1) const {
    // One call for both cases, so that the loops are compiled once.
    parallel_ranges(
        total_, total_ * width < kParallelElements ? 1 : threads,
        [this, &body](std::int64_t begin, std::int64_t end, int) { run_range(begin, end, body); });
  }

 private:
  static constexpr std::int64_t kPiece = std::int64_t{1} << 22;

  std::int64_t total_ = 1;
  std::size_t loops_ = 1;
  std::array<std::int64_t, kMaxLoops> extents_{};
  std::array<Offsets, kMaxLoops> steps_{};
};

/// Copies `count` rows of `bytes` bytes, which begin `to_step` and `from_step` bytes apart. Fast
/// for short rows too.
void copy_rows(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
               std::int64_t bytes, std::int64_t count);

/// Copies elements of `element_bytes` (1, 2, 4 or 8) through a nest of (target, source).
void copy_strided(const LoopNest<2>& nest, std::int64_t element_bytes, std::byte* target,
                  const std::byte* source, int threads);

}  // namespace qtool
