#include "ops/byte_pool.h"

#include <algorithm>

namespace qtool {

PoolShape pool_shape(const OpContext& op, const Window& window) {
  const Shape& x = op.input(0).shape;
  // Each thread has a vector with one offset per window element. Its capacity may be twice its
  // size.
  const std::int64_t places = std::min(window.kernel[0], x[2]) * std::min(window.kernel[1], x[3]);
  op.claim(places, static_cast<std::size_t>(2 * std::max(op.threads, 1)) * sizeof(std::int64_t));
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
      [shape = pool_shape(op, window), kernel = PoolKernel()](const Operands& o) {
        kernel.max(shape, o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads());
      },
      PoolKernel().kernel());
}

}  // namespace qtool
