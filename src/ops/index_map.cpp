#include "ops/index_map.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/stop.h"
#include "ops/strides.h"

namespace qtool {

IndexMap::IndexMap(const Shape& input, Layout input_layout, const Shape& output,
                   Layout output_layout, const std::vector<std::vector<std::int64_t>>& positions) {
  const std::vector<std::int64_t> from = strides_of(input, input_layout);
  const std::vector<std::int64_t> to = strides_of(output, output_layout);
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < positions.size(); ++axis) {
    QTOOL_CHECK(static_cast<std::int64_t>(positions[axis].size()) ==
                output[static_cast<std::int64_t>(axis)]);
    order.push_back(axis);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return to[a] > to[b]; });
  for (const std::size_t axis : order) {
    std::vector<std::int64_t> offsets = positions[axis];
    for (std::int64_t& offset : offsets) offset *= from[axis];
    offsets_.push_back(std::move(offsets));
  }
  if (offsets_.empty()) offsets_ = {{0}};
  const std::vector<std::int64_t>& innermost = offsets_.back();
  inner_ = static_cast<std::int64_t>(innermost.size());
  rows_ = inner_ == 0 ? 0 : output.elements() / inner_;
  inner_is_contiguous_ = true;
  for (std::size_t i = 0; i < innermost.size(); ++i) {
    inner_is_contiguous_ = inner_is_contiguous_ && innermost[i] == static_cast<std::int64_t>(i);
  }
}

template <typename T>
void IndexMap::copy_elements(T* target, const T* source, int threads) const {
  const auto copy_rows = [&](std::int64_t begin, std::int64_t end, int) {
    StopPace pace;
    for (std::int64_t row = begin; row < end; ++row) {
      pace.step(inner_);
      std::int64_t rest = row;
      const T* from = source;
      for (std::size_t axis = offsets_.size() - 1; axis-- > 0;) {
        const auto extent = static_cast<std::int64_t>(offsets_[axis].size());
        from += offsets_[axis][static_cast<std::size_t>(rest % extent)];
        rest /= extent;
      }
      T* out = target + row * inner_;
      const std::int64_t* offsets = offsets_.back().data();
      if (inner_is_contiguous_) {
        std::memcpy(out, from, static_cast<std::size_t>(inner_) * sizeof(T));
      } else {
        for (std::int64_t i = 0; i < inner_; ++i) out[i] = from[offsets[i]];
      }
    }
  };
  if (rows_ * inner_ < kParallelElements) return copy_rows(0, rows_, 0);
  parallel_ranges(rows_, threads, copy_rows);
}

void IndexMap::copy(std::int64_t element_bytes, std::byte* target, const std::byte* source,
                    int threads) const {
  with_element_of(element_bytes, [&](auto element) {
    using T = decltype(element);
    copy_elements(reinterpret_cast<T*>(target), reinterpret_cast<const T*>(source), threads);
  });
}

}  // namespace qtool
