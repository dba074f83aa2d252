#include "ops/infer_rules.h"

#include <algorithm>

#include "qtool/base/error.h"

namespace qtool {
namespace {
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
}

void require_dtype_in(const OpContext& op, std::size_t input,
                      std::initializer_list<DType> allowed) {
  const DType found = op.input(input).dtype;
  if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return;
  std::string names;
  for (const DType dtype : allowed) names += to_text(names.empty() ? "" : ", ", name_of(dtype));
  op.fail(ErrorCode::kUnsupported,
          to_text("input ", input, " has type ", name_of(found), ", expected ", names));
}

void require_same_type(const OpContext& op, std::size_t a, std::size_t b) {
  const DType first = op.input(a).dtype;
  const DType second = op.input(b).dtype;
  if (first == second) return;
  op.fail(to_text("input ", b, " has type ", name_of(second), ", expected ", name_of(first),
                  " as input ", a));
}

void require_outputs(const OpContext& op, std::size_t most) {
  for (std::size_t i = most; i < op.node.outputs.size(); ++i) {
    if (op.node.has_output(i)) {
      op.fail(to_text("found ", op.node.outputs.size(), " outputs, expected at most ", most));
    }
  }
}

void require_first_output(const OpContext& op) {
  op.require(op.node.has_output(0), "the first output is left out");
}

std::int64_t axis_of(const OpContext& op, std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    op.fail(to_text("axis ", axis, " is outside a tensor of rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::int64_t> axes_of(const OpContext& op, std::vector<std::int64_t> axes,
                                  std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = axis_of(op, axis, rank);
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end()) op.fail(to_text("axis ", *twice, " is listed twice"));
  return axes;
}

std::vector<std::int64_t> ints_of(const OpContext& op, std::size_t input, std::string_view what) {
  const ValueInfo& info = op.input(input);
  if (info.dtype != DType::kInt64 && info.dtype != DType::kInt32) {
    op.fail(to_text(what, " has type ", name_of(info.dtype), ", expected int64"));
  }
  if (info.shape.rank() > 1) {
    op.fail(to_text(what, " has shape ", info.shape.to_string(), ", expected a list"));
  }
  return op.constant_ints(input, what);
}

Shape shape_of(const OpContext& op, std::vector<std::int64_t> dims) {
  bool empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) op.fail(to_text("found ", dim, " as an extent"));
    empty = empty || dim == 0;
  }
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    if (empty) break;
    if (elements > kMaxElements / dim) {
      op.fail(to_text("the output of shape ", Shape(dims).to_string(), " would have more than ",
                      kMaxElements, " elements"));
    }
    elements *= dim;
  }
  return Shape(std::move(dims));
}

Shape broadcast(const OpContext& op, const Shape& a, const Shape& b) {
  const std::int64_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t from_a = axis - (rank - a.rank());
    const std::int64_t from_b = axis - (rank - b.rank());
    const std::int64_t x = from_a < 0 ? 1 : a[from_a];
    const std::int64_t y = from_b < 0 ? 1 : b[from_b];
    if (x != y && x != 1 && y != 1) {
      op.fail(to_text("shapes ", a.to_string(), " and ", b.to_string(),
                      " cannot be broadcast to each other"));
    }
    dims[static_cast<std::size_t>(axis)] = x == 1 ? y : x;
  }
  return shape_of(op, std::move(dims));
}

ValueInfo concatenated(const OpContext& op) {
  op.require(op.input_count() > 0, "found no inputs, expected at least one");
  op.require(op.node.has("axis"), "the attribute 'axis' is missing");
  const ValueInfo& first = op.input(0);
  const std::int64_t axis = axis_of(op, op.node.get_int("axis", 0), first.shape.rank());
  std::vector<std::int64_t> dims = first.shape.dims();
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    require_same_type(op, 0, i);
    const Shape& shape = op.input(i).shape;
    bool fits = shape.rank() == first.shape.rank();
    for (std::int64_t other = 0; fits && other < shape.rank(); ++other) {
      fits = other == axis || shape[other] == first.shape[other];
    }
    if (!fits) {
      op.fail(to_text("input ", i, " has shape ", shape.to_string(), ", expected ",
                      first.shape.to_string(), " except along axis ", axis));
    }
    std::int64_t& extent = dims[static_cast<std::size_t>(axis)];
    extent = shape_of(op, {extent})[0] + shape_of(op, {shape[axis]})[0];
  }
  return {first.dtype, shape_of(op, std::move(dims))};
}

void require_broadcastable(const OpContext& op, const Shape& shape, const Shape& target,
                           std::string_view what) {
  bool fits = shape.rank() <= target.rank();
  for (std::int64_t i = 1; fits && i <= shape.rank(); ++i) {
    const std::int64_t extent = shape[shape.rank() - i];
    fits = extent == 1 || extent == target[target.rank() - i];
  }
  if (!fits) {
    op.fail(to_text(what, " has shape ", shape.to_string(), ", which cannot be broadcast to ",
                    target.to_string()));
  }
}

void require_single(const OpContext& op, std::size_t input, std::string_view what) {
  const Shape& shape = op.input(input).shape;
  if (shape.rank() > 1 || (shape.rank() == 1 && shape[0] != 1)) {
    op.fail(to_text(what, " has shape ", shape.to_string(), ", expected a single element"));
  }
}

}  // namespace qtool
