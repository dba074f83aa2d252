#include "ops/strides.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

template <typename T>
void copy_elements(const LoopNest<2>& nest, T* target, const T* source, int threads) {
  const std::int64_t to = nest.inner_step(0);
  const std::int64_t from = nest.inner_step(1);
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

void copy_strided(const LoopNest<2>& nest, std::int64_t element_bytes, std::byte* target,
                  const std::byte* source, int threads) {
  with_element_of(element_bytes, [&](auto element) {
    using T = decltype(element);
    copy_elements(nest, reinterpret_cast<T*>(target), reinterpret_cast<const T*>(source), threads);
  });
}

}  // namespace qtool
