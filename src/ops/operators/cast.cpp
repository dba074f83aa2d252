#include "graph/onnx/dtype.h"
#include "ops/elementwise.h"
#include "ops/operator.h"
#include "tensor/convert.h"

// Operators that change the element type.
namespace qtool {
namespace {

std::vector<ValueInfo> infer_cast(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  op.require(op.node.has("to"), "the attribute 'to' is missing");
  const std::int64_t code = op.node.get_int("to", 0);
  const std::optional<DType> to = dtype_of_onnx(code);
  const auto nothing = [](auto) {};
  if (!to || !with_cast_type(*to, nothing) || !with_cast_type(in.dtype, nothing)) {
    op.fail(ErrorCode::kUnsupported, to_text("cannot cast from ", name_of(in.dtype),
                                             " to the element type with number ", code));
  }
  return {{*to, in.shape}};
}

// CastLike casts to the type of input 1.
std::vector<ValueInfo> infer_cast_like(const OpContext& op) {
  const auto nothing = [](auto) {};
  const DType to = op.input(1).dtype;
  if (!with_cast_type(to, nothing) || !with_cast_type(op.input(0).dtype, nothing)) {
    op.fail(ErrorCode::kUnsupported,
            to_text("cannot cast from ", name_of(op.input(0).dtype), " to ", name_of(to)));
  }
  return {{to, op.input(0).shape}};
}

std::unique_ptr<Operator> make_cast(const OpContext& op) {
  std::unique_ptr<Operator> made;
  with_cast_type(op.input(0).dtype, [&](auto from) {
    with_cast_type(op.output(0).dtype, [&](auto to) {
      made = make_unary<decltype(from), decltype(to)>(
          op, [](decltype(from) x) { return convert<decltype(to)>(x); });
    });
  });
  return made;
}

}  // namespace

OpDef op_Cast() { return {infer_cast, make_cast, LayoutRule::kAny}; }

// The layouts are plain because kAny would also convert the layout of input 1, whose data is not
// read.
OpDef op_CastLike() { return {infer_cast_like, make_cast}; }

}  // namespace qtool
