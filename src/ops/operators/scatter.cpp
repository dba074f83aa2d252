// ScatterElements and ScatterND: a copy of the input in which elements or blocks are replaced by
// updates, or combined with them. Updates of the same position are applied in the order of the
// indices, on one thread, so that the result does not depend on the number of threads.
#include <algorithm>
#include <cstring>

#include "ops/checked_index.h"
#include "ops/elementwise.h"
#include "ops/operator.h"
#include "ops/rows.h"

namespace qtool {
namespace {

enum class Reduction : std::uint8_t { kNone, kAdd, kMul, kMax, kMin };

Reduction reduction_of(const OpContext& op) {
  const std::string name = op.node.get_string("reduction", "none");
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "max") return Reduction::kMax;
  if (name == "min") return Reduction::kMin;
  op.fail(ErrorCode::kUnsupported,
          to_text("attribute 'reduction' is '", name, "', expected none, add, mul, max or min"));
}

// Combines `count` adjacent elements with their updates.
using CombineUpdates = void (*)(std::byte* targets, const std::byte* updates, std::int64_t count);

template <typename T, typename F>
void combine_each(std::byte* targets, const std::byte* updates, std::int64_t count, const F& f) {
  auto* target = reinterpret_cast<T*>(targets);
  const auto* update = reinterpret_cast<const T*>(updates);
  for (std::int64_t i = 0; i < count; ++i) target[i] = f(target[i], update[i]);
}

template <typename T>
CombineUpdates combine_by(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAdd:
      return [](std::byte* to, const std::byte* from, std::int64_t count) {
        combine_each<T>(to, from, count, wrap_add<T>);
      };
    case Reduction::kMul:
      return [](std::byte* to, const std::byte* from, std::int64_t count) {
        combine_each<T>(to, from, count, wrap_mul<T>);
      };
    case Reduction::kMax:
      return [](std::byte* to, const std::byte* from, std::int64_t count) {
        combine_each<T>(to, from, count, larger<T>);
      };
    case Reduction::kMin:
      return [](std::byte* to, const std::byte* from, std::int64_t count) {
        combine_each<T>(to, from, count, smaller<T>);
      };
    case Reduction::kNone:
      break;
  }
  return [](std::byte* to, const std::byte* from, std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  };
}

CombineUpdates combine_updates_of(const OpContext& op) {
  const Reduction reduction = reduction_of(op);
  CombineUpdates combine = nullptr;
  const auto choose = [&](auto element) { combine = combine_by<decltype(element)>(reduction); };
  if (reduction == Reduction::kNone) {
    with_element_of(size_of(op.input(0).dtype), choose);
  } else {
    with_type(NumberTypes{}, op.input(0).dtype, choose);
  }
  return combine;
}

void check_operands(const OpContext& op) {
  require_type(op, 1, IndexTypes{});
  require_same_type(op, 0, 2);
  if (reduction_of(op) != Reduction::kNone) require_type(op, 0, NumberTypes{});
}

void copy_input(const Operands& o, std::int64_t bytes) {
  copy_bytes(o.out<std::byte>(0), o.in<std::byte>(0), bytes);
}

std::int64_t scatter_axis(const OpContext& op) {
  return axis_of(op, op.node.get_int("axis", 0), op.input(0).shape.rank());
}

std::vector<ValueInfo> infer_elements(const OpContext& op) {
  check_operands(op);
  const Shape& in = op.input(0).shape;
  const Shape& chosen = op.input(1).shape;
  const std::int64_t axis = scatter_axis(op);
  bool fits = chosen.rank() == in.rank() && op.input(2).shape == chosen;
  for (std::int64_t i = 0; fits && i < chosen.rank(); ++i) fits = i == axis || chosen[i] <= in[i];
  op.require(fits, to_text("indices of shape ", chosen.to_string(), " and updates of shape ",
                           op.input(2).shape.to_string(), " do not fit an input of shape ",
                           in.to_string()));
  return {op.input(0)};
}

std::unique_ptr<Operator> make_elements(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const Shape& chosen = op.input(1).shape;
  const std::int64_t axis = scatter_axis(op);
  const std::int64_t extent = in[axis];
  std::vector<std::int64_t> to = strides_of(in, Layout::kPlain);
  const std::int64_t step = to[static_cast<std::size_t>(axis)];
  to[static_cast<std::size_t>(axis)] = 0;  // the index selects the position along this axis
  const LoopNest<2> nest(chosen.dims(), {strides_of(chosen, Layout::kPlain), to});
  const std::int64_t bytes = in.elements() * size_of(op.input(0).dtype);
  const std::int64_t size = size_of(op.input(0).dtype);
  const CombineUpdates combine = combine_updates_of(op);
  return make_for_type(IndexTypes{}, op.input(1).dtype, [&](auto index) {
    using Index = decltype(index);
    return make_operator([=](const Operands& o) {
      copy_input(o, bytes);
      nest.run_range(0, nest.total(), [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t from = at[0] + i * nest.inner_step(0);
          const std::int64_t place = checked_index(o.in<Index>(1)[from], extent);
          const std::int64_t target = at[1] + i * nest.inner_step(1) + place * step;
          combine(o.out<std::byte>(0) + target * size, o.in<std::byte>(2) + from * size, 1);
        }
      });
    });
  });
}

// The blocks of ScatterND: each of `tuples` index tuples has one index per entry of `extents` and
// selects `block` elements.
struct ScatteredBlocks {
  std::int64_t tuples = 1;
  std::int64_t block = 1;
  std::vector<std::int64_t> extents;
};

ScatteredBlocks resolve_blocks(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const Shape& indices = op.input(1).shape;
  const Shape& updates = op.input(2).shape;
  op.require(in.rank() >= 1 && indices.rank() >= 1 && indices[indices.rank() - 1] <= in.rank(),
             to_text("indices of shape ", indices.to_string(), " do not fit an input of shape ",
                     in.to_string()));
  const std::int64_t depth = indices[indices.rank() - 1];
  ScatteredBlocks blocks;
  std::vector<std::int64_t> expected(indices.dims().begin(), indices.dims().end() - 1);
  const auto elements_of = [&](std::vector<std::int64_t> dims) {
    return shape_of(op, std::move(dims)).elements();
  };
  blocks.tuples = elements_of(expected);
  blocks.block = elements_of({in.dims().begin() + depth, in.dims().end()});
  for (std::int64_t axis = 0; axis < in.rank(); ++axis) {
    if (axis < depth) {
      blocks.extents.push_back(in[axis]);
    } else {
      expected.push_back(in[axis]);
    }
  }
  op.require(updates == Shape(expected), to_text("updates have shape ", updates.to_string(),
                                                 ", expected ", Shape(expected).to_string()));
  return blocks;
}

std::vector<ValueInfo> infer_scatter_nd(const OpContext& op) {
  check_operands(op);
  static_cast<void>(resolve_blocks(op));
  return {op.input(0)};
}

std::unique_ptr<Operator> make_scatter_nd(const OpContext& op) {
  const ScatteredBlocks blocks = resolve_blocks(op);
  const std::int64_t bytes = op.input(0).shape.elements() * size_of(op.input(0).dtype);
  const std::int64_t tuples = op.input(2).shape.elements() == 0 ? 0 : blocks.tuples;
  const std::int64_t size = size_of(op.input(0).dtype);
  const std::int64_t block_bytes = blocks.block * size;
  const CombineUpdates combine = combine_updates_of(op);
  return make_for_type(IndexTypes{}, op.input(1).dtype, [&](auto index) {
    using Index = decltype(index);
    return make_operator([=](const Operands& o) {
      copy_input(o, bytes);
      const Index* tuple = o.in<Index>(1);
      const std::byte* update = o.in<std::byte>(2);
      StopPace pace;
      for (std::int64_t i = 0; i < tuples; ++i, update += block_bytes) {
        pace.step(blocks.block);
        std::int64_t place = 0;
        for (const std::int64_t extent : blocks.extents) {
          place = place * extent + checked_index(*tuple++, extent);
        }
        std::byte* target = o.out<std::byte>(0) + place * block_bytes;
        in_pieces(blocks.block, [&](std::int64_t begin, std::int64_t end) {
          combine(target + begin * size, update + begin * size, end - begin);
        });
      }
    });
  });
}

}  // namespace

OpDef op_ScatterElements() { return {infer_elements, make_elements}; }
OpDef op_ScatterND() { return {infer_scatter_nd, make_scatter_nd}; }

}  // namespace qtool
