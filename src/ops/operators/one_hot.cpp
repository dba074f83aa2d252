#include "ops/columns.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "tensor/convert.h"

namespace qtool {
namespace {

using PlaceTypes = TypeList<std::int64_t, std::int32_t, float, std::uint8_t, std::int8_t>;

// The depth: an integer that a model may store in any element type.
std::int64_t depth_of(const OpContext& op) {
  require_single(op, 1, "the depth");
  const Tensor* constant = op.constant(1);
  if (constant == nullptr) {
    op.fail(ErrorCode::kUnsupported, "the depth depends on the data; only constants are supported");
  }
  std::int64_t depth = -1;
  const bool known = with_cast_type(constant->dtype(), [&](auto element) {
    using T = decltype(element);
    depth = convert<std::int64_t>(reinterpret_cast<const T*>(constant->data())[0]);
  });
  op.require(known && depth >= 0, "the depth is no count");
  return depth;
}

std::int64_t one_hot_axis(const OpContext& op) {
  return axis_of(op, op.node.get_int("axis", -1), op.input(0).shape.rank() + 1);
}

std::vector<ValueInfo> infer_one_hot(const OpContext& op) {
  require_type(op, 0, PlaceTypes{});
  const ValueInfo& values = op.input(2);
  op.require(values.shape == Shape{2},
             to_text("the values have shape ", values.shape.to_string(), ", expected [2]"));
  std::vector<std::int64_t> dims = op.input(0).shape.dims();
  dims.insert(dims.begin() + one_hot_axis(op), depth_of(op));
  return {{values.dtype, shape_of(op, std::move(dims))}};
}

// Indices outside the depth give a column without a hot element.
std::unique_ptr<Operator> make_one_hot(const OpContext& op) {
  const Columns columns = columns_of(op.output(0).shape, one_hot_axis(op));
  return with_element_of(size_of(op.output(0).dtype), [&](auto element) {
    return make_for_type(PlaceTypes{}, op.input(0).dtype, [&](auto place) {
      using T = decltype(element);
      using Place = decltype(place);
      return make_operator([columns](const Operands& o) {
        const T off = o.in<T>(2)[0];
        const T on = o.in<T>(2)[1];
        StopPace pace;
        for (std::int64_t column = 0; column < columns.count(); ++column) {
          pace.step(columns.extent);
          auto hot = convert<std::int64_t>(o.in<Place>(0)[column]);
          if (hot < 0 && hot >= -columns.extent) hot += columns.extent;
          T* out = o.out<T>(0) + columns.offset(column);
          in_pieces(columns.extent, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
              out[i * columns.inner] = i == hot ? on : off;
            }
          });
        }
      });
    });
  });
}

}  // namespace

OpDef op_OneHot() { return {infer_one_hot, make_one_hot}; }

}  // namespace qtool
