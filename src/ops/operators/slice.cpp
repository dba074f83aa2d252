#include <algorithm>

#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// The elements taken along one axis: `count` elements from `start` on in steps of `step`.
struct Cut {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// Python's rules: negative positions count from the end; positions outside are clamped.
Cut cut_of(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  constexpr std::int64_t kFar = std::int64_t{1} << 41;  // all longer steps leave every axis
  step = std::clamp(step, -kFar, kFar);
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    return {start, step, start < end ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<std::int64_t>(start, -1, extent - 1);
  end = std::clamp<std::int64_t>(end, -1, extent - 1);
  return {start, step, end < start ? (start - end - 1) / -step + 1 : 0};
}

std::vector<Cut> cuts_of(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const std::vector<std::int64_t> starts = ints_of(op, 1, "the list of starts");
  const std::vector<std::int64_t> ends = ints_of(op, 2, "the list of ends");
  std::vector<std::int64_t> axes;
  if (op.has_input(3)) {
    axes = ints_of(op, 3, "the list of axes");
  } else {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (op.has_input(4)) steps = ints_of(op, 4, "the list of steps");
  op.require(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      to_text("found ", starts.size(), " starts, ", ends.size(), " ends, ", axes.size(),
              " axes and ", steps.size(), " steps, expected equal numbers"));
  static_cast<void>(axes_of(op, axes, shape.rank()));  // throws when an axis is listed twice
  std::vector<Cut> cuts;
  for (const std::int64_t extent : shape.dims()) cuts.push_back({0, 1, extent});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    op.require(steps[i] != 0, "a step is 0");
    const std::int64_t axis = axis_of(op, axes[i], shape.rank());
    cuts[static_cast<std::size_t>(axis)] = cut_of(shape[axis], starts[i], ends[i], steps[i]);
  }
  return cuts;
}

std::vector<ValueInfo> infer_slice(const OpContext& op) {
  std::vector<std::int64_t> dims;
  for (const Cut& cut : cuts_of(op)) dims.push_back(cut.count);
  return {{op.input(0).dtype, Shape(std::move(dims))}};
}

std::unique_ptr<Operator> make_slice(const OpContext& op) {
  const Shape& shape = op.output(0).shape;
  std::vector<std::int64_t> from = strides_of(op.input(0).shape, op.input_layout(0));
  const std::vector<Cut> cuts = cuts_of(op);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < cuts.size(); ++axis) {
    offset += cuts[axis].start * from[axis];
    // With one element the step is not used; a large one could overflow.
    from[axis] = cuts[axis].count > 1 ? from[axis] * cuts[axis].step : 0;
  }
  const bool empty = shape.elements() == 0;
  const LoopNest<2> nest(shape.dims(), {strides_of(shape, op.output_layout(0)), from});
  return make_operator(
      [nest, offset = empty ? 0 : offset, bytes = size_of(op.input(0).dtype)](const Operands& o) {
        copy_strided(nest, bytes, o.out<std::byte>(0), o.in<std::byte>(0) + offset * bytes,
                     o.threads());
      });
}

}  // namespace

OpDef op_Slice() { return {infer_slice, make_slice, LayoutRule::kAny}; }

}  // namespace qtool
