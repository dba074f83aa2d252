#include "ops/strides.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// A vector of 16 bytes, and the number of its elements.
template <typename T>
using Vector [[gnu::vector_size(16), gnu::may_alias]] = T;
template <typename T>
constexpr std::int64_t kSquare = 16 / static_cast<std::int64_t>(sizeof(T));

// Interleaves the lower halves of two vectors, or the upper halves.
template <std::size_t kHalf, typename T, std::size_t... kIndex>
Vector<T> interleave(Vector<T> a, Vector<T> b, std::index_sequence<kIndex...> /*elements*/) {
  constexpr std::size_t kCount = sizeof...(kIndex);
  return __builtin_shufflevector(a, b, (kHalf * kCount / 2 + kIndex / 2 + kIndex % 2 * kCount)...);
}

// Transposes a square of kSquare x kSquare elements: to[i * to_step + j] = from[i + j * from_step].
// Interleaving vector j with vector j + kSquare / 2 doubles the runs of elements that belong
// together in every round.
template <typename T>
void transpose_square(T* to, std::int64_t to_step, const T* from, std::int64_t from_step) {
  constexpr auto kElements = std::make_index_sequence<kSquare<T>>{};
  Vector<T> rows[kSquare<T>];
  for (std::int64_t j = 0; j < kSquare<T>; ++j) {
    std::memcpy(&rows[j], from + j * from_step, sizeof(rows[j]));
  }
  for (std::int64_t done = 1; done < kSquare<T>; done *= 2) {
    Vector<T> next[kSquare<T>];
    for (std::int64_t j = 0; j < kSquare<T> / 2; ++j) {
      next[2 * j] = interleave<0, T>(rows[j], rows[j + kSquare<T> / 2], kElements);
      next[2 * j + 1] = interleave<1, T>(rows[j], rows[j + kSquare<T> / 2], kElements);
    }
    std::memcpy(rows, next, sizeof(rows));
  }
  for (std::int64_t i = 0; i < kSquare<T>; ++i) {
    std::memcpy(to + i * to_step, &rows[i], sizeof(rows[i]));
  }
}

// to[i * to_step + j] = from[i + j * from_step]. The last tiles overlap the ones before.
template <typename T>
void transpose(T* to, std::int64_t to_step, const T* from, std::int64_t from_step,
               std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlock = 4 * kSquare<T>;  // rows whose cache lines stay in the L1
  StopPace pace;
  if (columns < kSquare<T>) {
    for (std::int64_t j = 0; j < columns; ++j) {
      pace.step(rows);
      for (std::int64_t i = 0; i < rows; ++i) to[i * to_step + j] = from[i + j * from_step];
    }
  } else if (rows < kSquare<T>) {
    for (std::int64_t i = 0; i < rows; ++i) {
      pace.step(columns);
      for (std::int64_t j = 0; j < columns; ++j) to[i * to_step + j] = from[i + j * from_step];
    }
  } else {
    for (std::int64_t block = 0; block < rows; block += kBlock) {
      const std::int64_t end = std::min(rows, block + kBlock);
      for (std::int64_t j = 0; j < columns; j += kSquare<T>) {
        pace.step((end - block) * kSquare<T>);
        const std::int64_t column = std::min(j, columns - kSquare<T>);
        for (std::int64_t i = block; i < end; i += kSquare<T>) {
          const std::int64_t row = std::min(i, rows - kSquare<T>);
          transpose_square(to + row * to_step + column, to_step, from + row + column * from_step,
                           from_step);
        }
      }
    }
  }
}

// Copies `count` runs of at least sizeof(Move) bytes. The last move ends at the end of the run, and
// overlaps the one before.
template <typename Move>
void copy_runs(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
               std::int64_t bytes, std::int64_t count) {
  constexpr auto kMove = static_cast<std::int64_t>(sizeof(Move));
  for (; count > 0; --count, to += to_step, from += from_step) {
    Move last;
    std::memcpy(&last, from + bytes - kMove, sizeof(Move));
    for (std::int64_t i = 0; i < bytes - kMove; i += kMove) {
      Move move;
      std::memcpy(&move, from + i, sizeof(Move));
      std::memcpy(to + i, &move, sizeof(Move));
    }
    std::memcpy(to + bytes - kMove, &last, sizeof(Move));
  }
}

constexpr std::int64_t kShortRun = 128;  // bytes; memcpy() is as fast for longer runs

// Copies runs of adjacent elements: the innermost loop of `nest`.
template <typename T>
void copy_short_runs(const LoopNest<2>& nest, T* target, const T* source, int threads) {
  const LoopNest<2> runs = nest.without_inner(nest.loops() - 2);
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  runs.run(
      threads,
      [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
        const std::int64_t to = runs.inner_step(0) * kSize;
        const std::int64_t from = runs.inner_step(1) * kSize;
        in_pieces(count, [&](std::int64_t begin, std::int64_t end) {
          copy_rows(reinterpret_cast<std::byte*>(target + at[0]) + begin * to, to,
                    reinterpret_cast<const std::byte*>(source + at[1]) + begin * from, from,
                    nest.inner_extent() * kSize, end - begin);
        });
      },
      nest.inner_extent());
}

// The loop of a nest whose elements are adjacent in the source, if those of the innermost loop are
// adjacent in the target only.
std::optional<std::size_t> transposed_loop(const LoopNest<2>& nest) {
  const std::int64_t from = nest.inner_step(1);
  if (nest.inner_step(0) != 1 || from == 1 || from == 0) return std::nullopt;
  for (std::size_t loop = 0; loop + 1 < nest.loops(); ++loop) {
    if (nest.step(loop, 1) == 1) return loop;
  }
  return std::nullopt;
}

template <typename T>
void copy_elements(const LoopNest<2>& nest, T* target, const T* source, int threads) {
  const std::int64_t to = nest.inner_step(0);
  const std::int64_t from = nest.inner_step(1);
  const std::int64_t inner = nest.inner_extent();
  if (to == 1 && from == 1 && nest.loops() > 1 &&
      inner * static_cast<std::int64_t>(sizeof(T)) <= kShortRun) {
    return copy_short_runs(nest, target, source, threads);
  }
  if (const std::optional<std::size_t> loop = transposed_loop(nest)) {
    const LoopNest<2> outer = nest.without_inner(*loop);
    return outer.run(
        threads,
        [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
          transpose(target + at[0], outer.inner_step(0), source + at[1], from, count, inner);
        },
        inner);
  }
  nest.run(threads, [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
    T* out = target + at[0];
    const T* in = source + at[1];
    if (to == 1 && from == 1) {
      std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(T));
    } else if (to == 1 && from == 0) {
      std::fill_n(out, count, *in);
    } else if (to == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = in[i * from];
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i * to] = in[i * from];
    }
  });
}

}  // namespace

std::vector<std::int64_t> strides_of(const Shape& shape, Layout layout) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<std::int64_t> strides(rank, 0);
  if (shape.elements() == 0) return strides;
  if (rank == 4 && layout == Layout::kChannelsLast) {
    const std::int64_t row = shape[3] * shape[1];
    return {shape[2] * row, 1, row, shape[1]};
  }
  std::int64_t step = 1;
  for (std::size_t axis = rank; axis-- > 0;) {
    strides[axis] = step;
    step *= shape[static_cast<std::int64_t>(axis)];
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const Shape& shape, Layout layout,
                                            const Shape& target) {
  QTOOL_CHECK(shape.rank() <= target.rank());
  const std::vector<std::int64_t> own = strides_of(shape, layout);
  std::vector<std::int64_t> strides(static_cast<std::size_t>(target.rank()), 0);
  const auto lead = static_cast<std::size_t>(target.rank() - shape.rank());
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    const std::int64_t extent = shape[static_cast<std::int64_t>(axis)];
    QTOOL_CHECK(extent == 1 || extent == target[static_cast<std::int64_t>(axis + lead)]);
    strides[axis + lead] = extent == 1 ? 0 : own[axis];
  }
  return strides;
}

namespace detail {

LoopAxes plan_loops(const std::vector<std::int64_t>& extents,
                    const std::vector<std::vector<std::int64_t>>& strides) {
  for (const auto& steps : strides) QTOOL_CHECK(steps.size() == extents.size());
  LoopAxes plan;
  plan.strides.resize(strides.size());
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) plan.total = 0;
    if (extents[axis] != 1) order.push_back(axis);
  }
  if (plan.total == 0 || order.empty()) {
    plan.extents = {1};
    for (auto& steps : plan.strides) steps = {1};
    return plan;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(strides[0][a]) > std::abs(strides[0][b]);
  });
  for (const std::size_t axis : order) {
    plan.total *= extents[axis];
    bool joins = !plan.extents.empty();
    for (std::size_t k = 0; k < strides.size() && joins; ++k) {
      joins = plan.strides[k].back() == strides[k][axis] * extents[axis];
    }
    if (joins) {
      plan.extents.back() *= extents[axis];
    } else {
      plan.extents.push_back(extents[axis]);
    }
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (joins) {
        plan.strides[k].back() = strides[k][axis];
      } else {
        plan.strides[k].push_back(strides[k][axis]);
      }
    }
  }
  if (plan.extents.size() > kMaxLoops) {
    throw Error(ErrorCode::kUnsupported,
                to_text("found a tensor operation over ", plan.extents.size(),
                        " axes, expected at most ", kMaxLoops));
  }
  return plan;
}

}  // namespace detail

void copy_rows(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
               std::int64_t bytes, std::int64_t count) {
  if (bytes > kShortRun) {
    for (; count > 0; --count, to += to_step, from += from_step) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
  } else if (bytes >= 16) {
    copy_runs<Vector<std::uint8_t>>(to, to_step, from, from_step, bytes, count);
  } else if (bytes >= 8) {
    copy_runs<std::uint64_t>(to, to_step, from, from_step, bytes, count);
  } else if (bytes >= 4) {
    copy_runs<std::uint32_t>(to, to_step, from, from_step, bytes, count);
  } else if (bytes >= 2) {
    copy_runs<std::uint16_t>(to, to_step, from, from_step, bytes, count);
  } else if (bytes == 1) {
    copy_runs<std::uint8_t>(to, to_step, from, from_step, bytes, count);
  }
}

void copy_strided(const LoopNest<2>& nest, std::int64_t element_bytes, std::byte* target,
                  const std::byte* source, int threads) {
  with_element_of(element_bytes, [&](auto element) {
    using T = decltype(element);
    copy_elements(nest, reinterpret_cast<T*>(target), reinterpret_cast<const T*>(source), threads);
  });
}

}  // namespace qtool
