#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtool/calib/table.h"

namespace qtool {

/// The difference between the entries of one tensor in two tables. A difference of scales is
/// relative to the larger scale.
struct TensorDiff {
  std::string tensor;
  float scale_a = 0.0F;
  float scale_b = 0.0F;
  double scale = 0.0;  ///< |a - b| / max(|a|, |b|)
  double range = 0.0;  ///< larger change of min or max, relative to the wider range
  [[nodiscard]] double largest() const noexcept { return scale > range ? scale : range; }
};

struct TableDiff {
  std::vector<TensorDiff> activations;  ///< tensors in both tables, in the order of the first
  std::vector<TensorDiff> weights;      ///< weights in both tables, by the most different channel
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;

  /// The largest difference of a scale or a range.
  [[nodiscard]] double largest() const noexcept;
  /// Whether both tables have the same tensors and no difference exceeds `tolerance`.
  [[nodiscard]] bool within(double tolerance) const noexcept;
};

/// Compares scales and ranges tensor by tensor. Activations of different types are compared by
/// their ranges alone, since their scales mean different things. Weights with different numbers of
/// scales differ by 1. If a table does not say which node reads a weight, it is compared with the
/// first entry of that weight in the other table. Cost: linear.
TableDiff diff_of(const CalibrationTable& a, const CalibrationTable& b);

}  // namespace qtool
