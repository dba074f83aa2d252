#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"

namespace qtool {

// Distance on bytes, with the parameters that lower_binary() describes.
OpDef op_QDistance() {
  return {
      [](const OpContext& op) {
        return std::vector<ValueInfo>{
            {DType::kUInt8, broadcast(op, op.input(0).shape, op.input(1).shape)}};
      },
      [](const OpContext& op) {
        using Byte = std::uint8_t;
        return make_binary<Byte, Byte, Byte>(op, [p = op.params<QBinaryParams>()](Byte a, Byte b) {
          const float real = std::abs(static_cast<float>(a - p.a.zero_point) * p.a.scale -
                                      static_cast<float>(b - p.b.zero_point) * p.b.scale);
          const Affine& y = p.result.affine;
          const auto q = static_cast<std::int32_t>(std::nearbyint(real / y.scale));
          return static_cast<Byte>(std::clamp(q + y.zero_point, p.result.low, p.result.high));
        });
      },
      LayoutRule::kAny};
}

}  // namespace qtool
