#include <cmath>

#include "ops/elementwise.h"

namespace qtool {

// An operator that combines two tensors: |a - b|.
OpDef op_Distance() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            require_same_type(op, 0, 1);
            return std::vector<ValueInfo>{
                {DType::kFloat32, broadcast(op, op.input(0).shape, op.input(1).shape)}};
          },
          [](const OpContext& op) {
            return make_binary<float, float, float>(
                op, [](float a, float b) { return std::abs(a - b); });
          },
          LayoutRule::kAny};
}

}  // namespace qtool
