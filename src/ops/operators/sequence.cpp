// Operators along one axis whose elements depend on those before: CumSum, ReverseSequence.
#include "ops/checked_index.h"
#include "ops/columns.h"
#include "ops/elementwise.h"
#include "ops/operator.h"
#include "ops/rows.h"

namespace qtool {
namespace {

std::vector<ValueInfo> infer_cumsum(const OpContext& op) {
  require_type(op, 0, NumberTypes{});
  require_type(op, 1, IndexTypes{});
  require_single(op, 1, "the axis");
  op.require(op.input(0).shape.rank() >= 1, "the input has no axes");
  return {op.input(0)};
}

std::unique_ptr<Operator> make_cumsum(const OpContext& op) {
  const bool exclusive = op.node.get_int("exclusive", 0) != 0;
  const bool reverse = op.node.get_int("reverse", 0) != 0;
  const Shape shape = op.input(0).shape;
  const bool wide_axis = op.input(1).dtype == DType::kInt64;
  return make_for_type(NumberTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    return make_operator([=](const Operands& o) {
      const std::int64_t axis = wide_axis ? *o.in<std::int64_t>(1) : *o.in<std::int32_t>(1);
      const Columns columns = columns_of(shape, checked_index(axis, shape.rank()));
      const std::int64_t step = reverse ? -columns.inner : columns.inner;
      const std::int64_t first = reverse ? (columns.extent - 1) * columns.inner : 0;
      for_columns(columns, o.threads(), [&](std::int64_t at) {
        const T* in = o.in<T>(0) + at + first;
        T* out = o.out<T>(0) + at + first;
        Sum sum{0};
        in_pieces(columns.extent, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const Sum next = wrap_add(sum, static_cast<Sum>(in[i * step]));
            out[i * step] = static_cast<T>(exclusive ? sum : next);
            sum = next;
          }
        });
      });
    });
  });
}

struct SequenceAxes {
  std::int64_t time;
  std::int64_t batch;
};

SequenceAxes sequence_axes(const OpContext& op) {
  const SequenceAxes axes{op.node.get_int("time_axis", 0), op.node.get_int("batch_axis", 1)};
  const bool valid = (axes.time == 0 && axes.batch == 1) || (axes.time == 1 && axes.batch == 0);
  op.require(valid, to_text("found time axis ", axes.time, " and batch axis ", axes.batch,
                            ", expected 0 and 1 or 1 and 0"));
  return axes;
}

std::vector<ValueInfo> infer_reverse(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const SequenceAxes axes = sequence_axes(op);
  require_dtype_in(op, 1, {DType::kInt64});
  op.require(in.rank() >= 2,
             to_text("the input has shape ", in.to_string(), ", expected a time and a batch axis"));
  const Shape& lengths = op.input(1).shape;
  op.require(
      lengths.rank() == 1 && lengths[0] == in[axes.batch],
      to_text("the lengths have shape ", lengths.to_string(), ", expected [", in[axes.batch], "]"));
  return {op.input(0)};
}

std::unique_ptr<Operator> make_reverse(const OpContext& op) {
  const Shape shape = op.input(0).shape;
  const SequenceAxes axes = sequence_axes(op);
  if (shape.elements() == 0) return make_operator([](const Operands&) {});
  const std::int64_t bytes =
      shape.elements() / (shape[0] * shape[1]) * size_of(op.input(0).dtype);  // bytes of one step
  return make_operator([=](const Operands& o) {
    const std::int64_t steps = shape[axes.time];
    const auto place = [&](std::int64_t time, std::int64_t batch) {
      return (axes.time == 0 ? time * shape[1] + batch : batch * shape[1] + time) * bytes;
    };
    StopPace pace;
    for (std::int64_t batch = 0; batch < shape[axes.batch]; ++batch) {
      const std::int64_t length = o.in<std::int64_t>(1)[batch];
      if (length < 0 || length > steps) {
        throw Error(ErrorCode::kInvalidModel,
                    to_text("found a sequence of ", length, " steps, expected 0 to ", steps));
      }
      for (std::int64_t time = 0; time < steps; ++time) {
        pace.step(bytes);
        const std::int64_t from = time < length ? length - 1 - time : time;
        copy_bytes(o.out<std::byte>(0) + place(time, batch),
                   o.in<std::byte>(0) + place(from, batch), bytes);
      }
    }
  });
}

}  // namespace

OpDef op_CumSum() { return {infer_cumsum, make_cumsum}; }
OpDef op_ReverseSequence() { return {infer_reverse, make_reverse}; }

}  // namespace qtool
