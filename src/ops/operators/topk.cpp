#include <algorithm>
#include <numeric>

#include "base/stop.h"
#include "ops/columns.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"

// ArgMax, ArgMin, TopK and Hardmax: positions of the largest or smallest elements along one axis.
namespace qtool {
namespace {

using OrderedTypes = TypeList<float, std::int32_t, std::int64_t, std::int8_t, std::uint8_t>;

enum class Wanted : std::uint8_t { kLargest, kSmallest };

std::int64_t order_axis(const OpContext& op, std::int64_t fallback) {
  return axis_of(op, op.node.get_int("axis", fallback), op.input(0).shape.rank());
}

std::vector<ValueInfo> infer_arg(const OpContext& op) {
  require_type(op, 0, OrderedTypes{});
  const Shape& in = op.input(0).shape;
  const std::int64_t axis = order_axis(op, 0);
  std::vector<std::int64_t> dims = in.dims();
  if (op.node.get_int("keepdims", 1) != 0) {
    dims[static_cast<std::size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  const Shape out(std::move(dims));
  op.require(in[axis] > 0 || out.elements() == 0, to_text("axis ", axis, " is empty"));
  return {{DType::kInt64, out}};
}

// Whether `a` belongs before `b`; NaN counts as larger than every number.
template <typename T>
bool precedes(T a, T b, Wanted wanted) {
  if (wanted == Wanted::kSmallest) std::swap(a, b);
  return a > b || (a != a && b == b);
}

// Finds the position of the best element of each of several adjacent columns.
template <typename T>
void find_winners(const T* in, std::int64_t* out, std::int64_t extent, std::int64_t step,
                  std::int64_t columns, Wanted wanted, bool last_of_equals) {
  std::fill_n(out, columns, std::int64_t{0});
  StopPace pace;
  for (std::int64_t row = 1; row < extent; ++row) {
    pace.step(columns);
    for (std::int64_t c = 0; c < columns; ++c) {
      const T x = in[row * step + c];
      const T best = in[out[c] * step + c];
      const bool wins = last_of_equals ? !precedes(best, x, wanted) : precedes(x, best, wanted);
      if (wins) out[c] = row;
    }
  }
}

template <Wanted kWanted>
std::unique_ptr<Operator> make_arg(const OpContext& op) {
  const Columns columns = columns_of(op.input(0).shape, order_axis(op, 0));
  const bool last_of_equals = op.node.get_int("select_last_index", 0) != 0;
  return make_for_type(OrderedTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    return make_operator([columns, last_of_equals](const Operands& o) {
      for (std::int64_t i = 0; i < columns.outer; ++i) {
        find_winners(o.in<T>(0) + i * columns.extent * columns.inner,
                     o.out<std::int64_t>(0) + i * columns.inner, columns.extent, columns.inner,
                     columns.inner, kWanted, last_of_equals);
      }
    });
  });
}

std::vector<ValueInfo> infer_topk(const OpContext& op) {
  require_type(op, 0, OrderedTypes{});
  require_single(op, 1, "the number of elements");
  const ValueInfo& in = op.input(0);
  const std::int64_t axis = order_axis(op, -1);
  const std::int64_t count = ints_of(op, 1, "the number of elements").at(0);
  op.require(
      count >= 0 && count <= in.shape[axis],
      to_text("found ", count, " elements asked for, axis ", axis, " has extent ", in.shape[axis]));
  std::vector<std::int64_t> dims = in.shape.dims();
  dims[static_cast<std::size_t>(axis)] = count;
  const Shape shape(std::move(dims));
  return {{in.dtype, shape}, {DType::kInt64, shape}};
}

constexpr std::int64_t kLongColumn = 1 << 21;  // sorting one takes about a second

// The first `count` elements of each column in order; equal elements keep their order.
template <typename T>
void select(const Columns& columns, std::int64_t count, Wanted wanted, const Operands& o) {
  T* values = o.has_output(0) ? o.out<T>(0) : nullptr;
  std::int64_t* positions = o.has_output(1) ? o.out<std::int64_t>(1) : nullptr;
  std::vector<std::int64_t> order(static_cast<std::size_t>(columns.extent));
  const auto sort = [&](const auto& before) {
    std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
  };
  StopPace pace;
  for (std::int64_t column = 0; column < columns.count(); ++column) {
    const std::int64_t outer = column / columns.inner;
    const std::int64_t inner = column % columns.inner;
    const T* in = o.in<T>(0) + columns.offset(column);
    const auto at = [&](std::int64_t position) { return in[position * columns.inner]; };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto before = [&](std::int64_t a, std::int64_t b) {
      if (precedes(at(a), at(b), wanted)) return true;
      return !precedes(at(b), at(a), wanted) && a < b;
    };
    pace.step(columns.extent);
    if (columns.extent < kLongColumn) {
      sort(before);
    } else {
      sort([&](std::int64_t a, std::int64_t b) {
        pace.step();
        return before(a, b);
      });
    }
    in_pieces(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t target = (outer * count + i) * columns.inner + inner;
        const std::int64_t position = order[static_cast<std::size_t>(i)];
        if (values != nullptr) values[target] = at(position);
        if (positions != nullptr) positions[target] = position;
      }
    });
  }
}

std::unique_ptr<Operator> make_topk(const OpContext& op) {
  const std::int64_t axis = order_axis(op, -1);
  const Columns columns = columns_of(op.input(0).shape, axis);
  op.claim(columns.extent, sizeof(std::int64_t));  // the order of one column
  const std::int64_t count = infer_topk(op)[0].shape[axis];
  const Wanted wanted = op.node.get_int("largest", 1) != 0 ? Wanted::kLargest : Wanted::kSmallest;
  return make_for_type(OrderedTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    return make_operator([=](const Operands& o) { select<T>(columns, count, wanted, o); });
  });
}

std::vector<ValueInfo> infer_hardmax(const OpContext& op) {
  require_type(op, 0, FloatingTypes{});
  static_cast<void>(order_axis(op, -1));
  return {op.input(0)};
}

std::unique_ptr<Operator> make_hardmax(const OpContext& op) {
  const Columns columns = columns_of(op.input(0).shape, order_axis(op, -1));
  return make_for_type(FloatingTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    return make_operator([columns](const Operands& o) {
      for_columns(columns, o.threads(), [&](std::int64_t at) {
        std::int64_t winner = 0;
        const T* in = o.in<T>(0) + at;
        find_winners(in, &winner, columns.extent, columns.inner, 1, Wanted::kLargest, false);
        T* out = o.out<T>(0) + at;
        in_pieces(columns.extent, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            out[i * columns.inner] = i == winner ? T{1} : T{0};
          }
        });
      });
    });
  });
}

}  // namespace

OpDef op_ArgMax() { return {infer_arg, make_arg<Wanted::kLargest>}; }
OpDef op_ArgMin() { return {infer_arg, make_arg<Wanted::kSmallest>}; }
OpDef op_Hardmax() { return {infer_hardmax, make_hardmax}; }
OpDef op_TopK() { return {infer_topk, make_topk}; }

}  // namespace qtool
