#pragma once

#include <algorithm>
#include <concepts>

namespace qtool {

/// A box by its sides; `right` and `bottom` lie outside it.
template <std::floating_point T>
struct BoxSides {
  T left{};
  T top{};
  T right{};
  T bottom{};
};

/// The area that two boxes share. 0 where they only touch, where the right side of a box is not on
/// the right of its left side (likewise for top and bottom), and where a side that decides is NaN.
template <std::floating_point T>
T shared_area(const BoxSides<T>& a, const BoxSides<T>& b) {
  const T width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const T height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : T{0};
}

}  // namespace qtool
