#include <algorithm>

#include "ops/infer_rules.h"
#include "ops/operator.h"

// Operators that give the same memory another shape, and those that return a shape.
namespace qtool {
namespace {

std::vector<ValueInfo> infer_same(const OpContext& op) { return {op.input(0)}; }

std::vector<ValueInfo> infer_dropout(const OpContext& op) {
  require_first_output(op);
  if (op.has_input(2)) {
    const std::vector<std::int64_t> training = op.constant_ints(2, "the training mode");
    op.require(training.size() == 1, "the training mode is not a single element");
    if (training[0] != 0) {
      op.fail(ErrorCode::kUnsupported,
              "it drops values at random in training mode; export the model for inference");
    }
  }
  return infer_same(op);
}

std::vector<ValueInfo> infer_reshape(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  std::vector<std::int64_t> dims = ints_of(op, 1, "the new shape");
  const bool keep_zeros = op.node.get_int("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::int64_t open = -1;
  bool has_zero = false;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    std::int64_t& dim = dims[axis];
    if (dim == -1) {
      op.require(open < 0, "the new shape has more than one -1");
      open = static_cast<std::int64_t>(axis);
      continue;
    }
    if (dim == 0 && !keep_zeros) {
      op.require(static_cast<std::int64_t>(axis) < in.shape.rank(),
                 "the new shape has a 0 beyond the axes of the input");
      dim = in.shape[static_cast<std::int64_t>(axis)];
    }
    if (dim == 0) has_zero = true;
  }
  for (const std::int64_t dim : dims) {
    if (dim != -1 && !has_zero) known = shape_of(op, {known, dim}).elements();
  }
  if (has_zero) known = 0;
  const std::int64_t elements = in.shape.elements();
  if (open >= 0) {
    op.require(known > 0 && elements % known == 0,
               to_text("an input of shape ", in.shape.to_string(),
                       " does not fit the known extents of the new shape"));
    dims[static_cast<std::size_t>(open)] = elements / known;
  }
  const Shape shape = shape_of(op, std::move(dims));
  if (shape.elements() != elements) {
    op.fail(to_text("an input of shape ", in.shape.to_string(), " cannot be reshaped to ",
                    shape.to_string()));
  }
  return {{in.dtype, shape}};
}

std::vector<ValueInfo> infer_flatten(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  const std::int64_t rank = in.shape.rank();
  const std::int64_t axis = op.node.get_int("axis", 1);
  if (axis < -rank || axis > rank) {
    op.fail(to_text("axis ", axis, " is outside a tensor of rank ", rank));
  }
  const std::int64_t split = axis < 0 ? axis + rank : axis;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t& side = i < split ? rows : columns;
    side = shape_of(op, {side, in.shape[i]}).elements();
  }
  return {{in.dtype, shape_of(op, {rows, columns})}};
}

std::vector<ValueInfo> infer_squeeze(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  const std::int64_t rank = in.shape.rank();
  std::vector<std::int64_t> axes;
  if (op.has_input(1)) {
    axes = axes_of(op, ints_of(op, 1, "the list of axes"), rank);
    for (const std::int64_t axis : axes) {
      op.require(in.shape[axis] == 1, to_text("axis ", axis, " has extent ", in.shape[axis],
                                              ", only extents of 1 can be squeezed"));
    }
  } else {
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (in.shape[axis] == 1) axes.push_back(axis);
    }
  }
  std::vector<std::int64_t> dims;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) dims.push_back(in.shape[axis]);
  }
  return {{in.dtype, Shape(std::move(dims))}};
}

std::vector<ValueInfo> infer_unsqueeze(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  std::vector<std::int64_t> axes = ints_of(op, 1, "the list of axes");
  const std::int64_t rank = in.shape.rank() + static_cast<std::int64_t>(axes.size());
  axes = axes_of(op, std::move(axes), rank);
  std::vector<std::int64_t> dims;
  std::int64_t next = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const bool inserted = std::binary_search(axes.begin(), axes.end(), axis);
    dims.push_back(inserted ? 1 : in.shape[next++]);
  }
  return {{in.dtype, Shape(std::move(dims))}};
}

// The part [start, end) of the input's axes that Shape lists.
std::vector<std::int64_t> listed_extents(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const std::int64_t rank = shape.rank();
  const auto clamped = [&](std::string_view key, std::int64_t fallback) {
    const std::int64_t axis = op.node.get_int(key, fallback);
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamped("start", 0);
  const std::int64_t end = clamped("end", rank);
  if (start >= end) return {};
  return {shape.dims().begin() + start, shape.dims().begin() + end};
}

std::unique_ptr<Operator> make_answer(std::vector<std::int64_t> answer) {
  return make_operator([answer = std::move(answer)](const Operands& o) {
    std::copy(answer.begin(), answer.end(), o.out<std::int64_t>(0));
  });
}

}  // namespace

OpDef op_Identity() { return {infer_same, nullptr}; }
OpDef op_Dropout() { return {infer_dropout, nullptr}; }
OpDef op_Reshape() { return {infer_reshape, nullptr}; }
OpDef op_Flatten() { return {infer_flatten, nullptr}; }
OpDef op_Squeeze() { return {infer_squeeze, nullptr}; }
OpDef op_Unsqueeze() { return {infer_unsqueeze, nullptr}; }

OpDef op_Shape() {
  return {[](const OpContext& op) {
            const auto count = static_cast<std::int64_t>(listed_extents(op).size());
            return std::vector<ValueInfo>{{DType::kInt64, Shape{count}}};
          },
          [](const OpContext& op) { return make_answer(listed_extents(op)); }, LayoutRule::kAny};
}

OpDef op_Size() {
  return {[](const OpContext& op) {
            static_cast<void>(op.input(0));
            return std::vector<ValueInfo>{{DType::kInt64, Shape{}}};
          },
          [](const OpContext& op) { return make_answer({op.input(0).shape.elements()}); },
          LayoutRule::kAny};
}

}  // namespace qtool
