#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ops/operator.h"

namespace qtool {

/// The equation of an Einsum node, checked against the shapes of its inputs. A label is a letter,
/// or a negative number for an axis of the ellipsis: -1 for its last axis.
struct EinsumEquation {
  using Labels = std::vector<int>;

  std::vector<Labels> inputs;  ///< one label per axis; a repeated label means the diagonal
  Labels output;
  std::map<int, std::int64_t> extents;

  /// The extents of labels, as a shape. Throws Error(kInvalidModel) when it is absurdly large.
  [[nodiscard]] Shape shape_of_labels(const OpContext& op, const Labels& labels) const;
};

/// Reads the attribute `equation`. Throws Error(kInvalidModel) when it contradicts itself or the
/// inputs.
EinsumEquation read_equation(const OpContext& op);

}  // namespace qtool
