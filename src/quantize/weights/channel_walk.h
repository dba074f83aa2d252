#pragma once

#include <cstddef>
#include <cstdint>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The elements of a tensor as [outer, channels, inner], with the axes before and after the channel
/// axis joined.
struct ChannelWalk {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;

  ChannelWalk(const Shape& shape, std::int64_t axis) {
    const std::int64_t front = normalize_axis(axis, shape.rank(), "axis of the output channels");
    for (std::int64_t i = 0; i < shape.rank(); ++i) {
      (i < front ? outer : i == front ? channels : inner) *= shape[i];
    }
  }

  /// Calls `visit(channel, index of the element)` in memory order.
  template <typename Visit>
  void each(Visit visit) const {
    std::size_t index = 0;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < inner; ++i) visit(static_cast<std::size_t>(c), index++);
      }
    }
  }
};

}  // namespace qtool
