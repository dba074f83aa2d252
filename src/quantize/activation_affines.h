#pragma once

#include <optional>
#include <vector>

#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "quantize/table_view.h"

namespace qtool {

/// The affine map of every quantized tensor, and the Concats whose operands have different ones.
struct ActivationAffines {
  std::vector<std::optional<Affine>> by_value;  ///< by ValueId; constants of aligned Concats too
  /// By ValueId, of quantized tensors: equal for those that must have one map, which are the
  /// operands and the result of a Concat and what passing nodes make of them.
  std::vector<ValueId> group;
  std::vector<UnequalConcat> unequal;
};

/// Gives each quantized tensor the affine map of its source. The operands of a Concat get one for
/// their common range where that costs none of them more resolution than the target allows.
ActivationAffines choose_activation_affines(const Graph& graph, const Placement& placement,
                                            const Target& target, const TableView& table);

/// Smallest and largest value of a float32 tensor, widened to contain 0.
Range range_of(const Tensor& tensor);

}  // namespace qtool
