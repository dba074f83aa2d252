#include <algorithm>

#include "exec/operator.h"

namespace qtool {

OpDef op_Relu() {
  return {[](const OpContext& op) { return std::vector<ValueInfo>{op.input(0)}; },
          [](const OpContext&) {
            return make_operator([](const Operands& o) {
              const auto in = o.input(0).values<float>();
              std::transform(in.begin(), in.end(), o.out<float>(0),
                             [](float x) { return std::max(x, 0.0F); });
            });
          },
          LayoutRule::kAny};
}

}  // namespace qtool
