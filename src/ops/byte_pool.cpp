#include "ops/byte_pool.h"

namespace qtool {

PoolShape pool_shape(const Shape& x, const Window& window) {
  PoolShape shape;
  set_window(x, window, shape);
  shape.channels = x[1];
  shape.kernel_h = window.kernel[0];
  shape.kernel_w = window.kernel[1];
  shape.pad_bottom = window.pads_end[0];
  shape.pad_right = window.pads_end[1];
  return shape;
}

std::unique_ptr<Operator> make_byte_max_pool(const OpContext& op, const Window& window) {
  return make_operator(
      [shape = pool_shape(op.input(0).shape, window), kernel = PoolKernel()](const Operands& o) {
        kernel.max(shape, o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads());
      },
      PoolKernel().kernel());
}

}  // namespace qtool
