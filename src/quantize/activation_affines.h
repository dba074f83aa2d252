#pragma once

#include <optional>
#include <vector>

#include "graph/id_map.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "quantize/table_view.h"

namespace qtool {

/// The affine map of every quantized tensor, and the Concats whose operands have different maps.
struct ActivationAffines {
  IdMap<ValueId, std::optional<Affine>> by_value;  ///< also of constants of aligned Concats
  /// For quantized tensors: the tensor that represents the group of tensors with one map. A group
  /// holds, for example, the operands and the result of a Concat, and the tensors that passing
  /// nodes make from them.
  IdMap<ValueId, ValueId> group;
  std::vector<UnequalConcat> unequal;
};

/// Gives each quantized tensor the affine map of its source. The operands of a Concat get one map
/// for their common range if that costs none of them more resolution than the target allows.
ActivationAffines choose_activation_affines(const Graph& graph, const Placement& placement,
                                            const Target& target, const TableView& table);

/// Smallest and largest value of a float32 tensor, widened to contain 0.
Range range_of(const Tensor& tensor);

}  // namespace qtool
