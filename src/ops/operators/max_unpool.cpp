// MaxUnpool: puts elements back to where MaxPool found them, with zeros elsewhere.
#include "ops/checked_index.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// The shape of the pool's input according to the attributes. The indices refer to this shape.
Shape pooled_from(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  op.require(x.rank() >= 3 && x.rank() <= 5,
             to_text("input ", x.to_string(), " must have rank 3 to 5"));
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  const std::vector<std::int64_t> kernel = op.node.get_ints("kernel_shape", {});
  std::vector<std::int64_t> strides = op.node.get_ints("strides", {});
  std::vector<std::int64_t> pads = op.node.get_ints("pads", {});
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  op.require(kernel.size() == axes && strides.size() == axes && pads.size() == 2 * axes,
             to_text("kernel_shape, strides or pads do not fit ", axes, " spatial axes"));
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  std::vector<std::int64_t> dims{x[0], x[1]};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = x[static_cast<std::int64_t>(i) + 2];
    for (const std::int64_t value : {kernel[i], strides[i], pads[i], pads[axes + i], extent}) {
      op.require(value >= 0 && value <= kMaxExtent, to_text("found ", value, " as an extent"));
    }
    dims.push_back((extent - 1) * strides[i] - pads[i] - pads[axes + i] + kernel[i]);
  }
  return shape_of(op, std::move(dims));
}

std::vector<ValueInfo> infer_unpool(const OpContext& op) {
  require_type(op, 0, FloatingTypes{});
  require_dtype_in(op, 1, {DType::kInt64});
  op.require(op.input(0).shape == op.input(1).shape,
             to_text("the indices have shape ", op.input(1).shape.to_string(), ", expected ",
                     op.input(0).shape.to_string()));
  const Shape inner = pooled_from(op);
  if (!op.has_input(2)) return {{op.input(0).dtype, inner}};
  const Shape outer = shape_of(op, ints_of(op, 2, "the shape of the output"));
  bool fits = outer.rank() == inner.rank();
  for (std::int64_t axis = 0; fits && axis < outer.rank(); ++axis) {
    fits = outer[axis] >= inner[axis];
  }
  op.require(fits, to_text("the output has shape ", outer.to_string(), ", expected at least ",
                           inner.to_string()));
  return {{op.input(0).dtype, outer}};
}

std::unique_ptr<Operator> make_unpool(const OpContext& op) {
  const Shape inner = pooled_from(op);
  const Shape outer = op.output(0).shape;
  const std::int64_t count = op.input(0).shape.elements();
  return with_element_of(size_of(op.input(0).dtype), [&](auto element) {
    using T = decltype(element);
    return make_operator([=](const Operands& o) {
      T* out = o.out<T>(0);
      fill_elements(out, outer.elements(), T{0});
      const std::vector<std::int64_t> steps = strides_of(outer, Layout::kPlain);
      in_pieces(count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          std::int64_t rest = checked_index(o.in<std::int64_t>(1)[i], inner.elements());
          std::int64_t place = 0;
          for (std::int64_t axis = inner.rank(); axis-- > 0;) {
            place += rest % inner[axis] * steps[static_cast<std::size_t>(axis)];
            rest /= inner[axis];
          }
          out[place] = o.in<T>(0)[i];
        }
      });
    });
  });
}

}  // namespace

OpDef op_MaxUnpool() { return {infer_unpool, make_unpool}; }

}  // namespace qtool
