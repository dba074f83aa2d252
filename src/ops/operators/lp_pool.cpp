// LpPool and GlobalLpPool: (sum of |x|^p under the window)^(1/p).
#include <cmath>

#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/spatial.h"
#include "ops/window_loop.h"

namespace qtool {
namespace {

template <PoolExtent extent>
std::vector<ValueInfo> infer_lp_pool(const OpContext& op) {
  require_type(op, 0, FloatType{});
  const std::int64_t p = op.node.get_int("p", 2);
  op.require(p >= 1, to_text("attribute 'p' is ", p, ", expected a positive number"));
  const Shape& x = op.input(0).shape;
  return {{DType::kFloat32, pooled_shape(x, pool_window(op, extent))}};
}

template <PoolExtent extent>
std::unique_ptr<Operator> make_lp_pool(const OpContext& op) {
  const WindowLoop loop(op.input(0).shape, op.input_layout(0), pool_window(op, extent),
                        op.output_layout(0));
  const auto p = static_cast<double>(op.node.get_int("p", 2));
  return make_operator([loop, p](const Operands& o) {
    const float* in = o.in<float>(0);
    float* out = o.out<float>(0);
    loop.run(o.threads(), [&](std::int64_t, std::int64_t to, const auto& visit) {
      double sum = 0;
      visit([&](const WindowLoop::Tap& tap) {
        const double x = std::abs(static_cast<double>(in[tap.offset]));
        sum += p == 2 ? x * x : std::pow(x, p);
      });
      out[to] = static_cast<float>(p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p));
    });
  });
}

}  // namespace

OpDef op_LpPool() {
  return {infer_lp_pool<PoolExtent::kWindow>, make_lp_pool<PoolExtent::kWindow>,
          LayoutRule::kChannelsLast};
}
OpDef op_GlobalLpPool() {
  return {infer_lp_pool<PoolExtent::kGlobal>, make_lp_pool<PoolExtent::kGlobal>,
          LayoutRule::kChannelsLast};
}

}  // namespace qtool
