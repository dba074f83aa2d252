#include "ops/elementwise.h"

namespace qtool {

// An element-wise operator: x^3.
OpDef op_Cube() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) {
            return make_unary<float, float>(op, [](float x) { return x * x * x; });
          },
          LayoutRule::kAny};
}

}  // namespace qtool
