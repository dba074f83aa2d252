#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtool/calib/table.h"
#include "report/text_table.h"

namespace qtool {

/// How a tensor that two tables name differs; differences are relative to the larger of the two.
struct TensorDiff {
  std::string tensor;
  float scale_a = 0.0F;
  float scale_b = 0.0F;
  double scale = 0.0;  ///< |a - b| / max(|a|, |b|)
  double range = 0.0;  ///< the larger end's difference, relative to the wider range
  [[nodiscard]] double largest() const noexcept { return scale > range ? scale : range; }
};

struct TableDiff {
  std::vector<TensorDiff> activations;  ///< of both tables, in the order of the first
  std::vector<TensorDiff> weights;      ///< of both tables, by the channel that differs most
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;

  /// Whether both name the same tensors and nothing differs by more than `tolerance`.
  [[nodiscard]] bool within(double tolerance) const noexcept;
};

/// Compares scales and ranges tensor by tensor. A symmetric int8 entry beside one of another type
/// is compared by its range alone, since their scales mean different things. A weight with another
/// number of scales differs by 1; where a table does not say which node reads a weight, its first
/// entry in the other table counts. Cost: linear.
TableDiff diff_of(const CalibrationTable& a, const CalibrationTable& b);

/// The tensors that differ by more than `tolerance`, in at most `width` columns, and those that
/// only one table has.
std::string text_of(const TableDiff& diff, double tolerance, std::size_t width = kAnyWidth);
std::string json_of(const TableDiff& diff, double tolerance);

/// A whole table, tensor by tensor, in at most `width` columns: `qtool table show`.
std::string table_text(const CalibrationTable& table, std::size_t width = kAnyWidth);
std::string table_json(const CalibrationTable& table);

}  // namespace qtool
