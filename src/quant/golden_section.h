#pragma once

#include <functional>

namespace qtool {

/// The point of [low, high] where `f` is smallest, found by golden-section search with `steps`
/// evaluations after the first two. For a unimodal function the error is at most (high - low)
/// 0.618^steps. `keeps_left` gets the values at a left and a right point. It says whether the
/// search continues left of the right point; else it continues right of the left point.
template <typename Function, typename KeepsLeft = std::less_equal<>>
double golden_section(double low, double high, int steps, Function f, KeepsLeft keeps_left = {}) {
  constexpr double kRatio = 0.6180339887498949;
  double left = high - kRatio * (high - low);
  double right = low + kRatio * (high - low);
  double at_left = f(left);
  double at_right = f(right);
  for (int step = 0; step < steps; ++step) {
    if (keeps_left(at_left, at_right)) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kRatio * (high - low);
      at_left = f(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kRatio * (high - low);
      at_right = f(right);
    }
  }
  return keeps_left(at_left, at_right) ? left : right;
}

}  // namespace qtool
