// Reductions and softmax.
#include <utility>

#include "graph/upgrade/upgrade.h"

namespace qtool {

void upgrade_reduce_sum(Upgrade& up) {
  if (up.from() < 13) up.ints_to_input("axes", 1);
}

// Opset 18 made the axes of the other reductions an input, too.
void upgrade_reduce(Upgrade& up) {
  if (up.from() <= kCanonicalOpset) return;
  const bool keep_all = up.take_int("noop_with_empty_axes").value_or(0) != 0;
  std::vector<std::int64_t> axes;
  if (up.input(1) != kNoValue) axes = up.constant_ints(1, "axes");
  up.truncate_inputs(1);
  if (!axes.empty()) {
    up.attributes()["axes"] = std::move(axes);
  } else if (keep_all) {
    // Without axes, opset 18 applies only the element-wise part of an operator. The operators named
    // here have no such part.
    const std::string& op = up.node().op_type;
    if (op != "ReduceMax" && op != "ReduceMin" && op != "ReduceMean" && op != "ReduceProd") {
      up.fail("reducing over no axis is not supported");
    }
    up.drop("keepdims");
    up.set_op("Identity");
  }
}

// Before opset 13 these operators worked on rows. All axes from `axis` (default 1) on together
// formed a row.
void upgrade_softmax(Upgrade& up) {
  if (up.from() >= 13) return;
  const std::int64_t axis = up.take_int("axis").value_or(1);
  const std::optional<std::int64_t> rank = rank_of(up.graph(), up.input(0));
  up.attributes()["axis"] = std::int64_t{-1};
  if (axis == -1 || (rank && axis == *rank - 1)) return;
  const ValueId shape = up.before("Shape", {up.input(0)}, "shape");
  up.set_input(0, up.before("Flatten", {up.input(0)}, "rows", {{"axis", axis}}));
  up.after("Reshape", {shape}, "normalized");
}

}  // namespace qtool
