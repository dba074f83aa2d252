#include "ops/checked_index.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"

namespace qtool {
namespace {

std::int64_t gather_axis(const OpContext& op) {
  return axis_of(op, op.node.get_int("axis", 0), op.input(0).shape.rank());
}

std::vector<ValueInfo> infer_gather(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  require_type(op, 1, IndexTypes{});
  const std::int64_t axis = gather_axis(op);
  std::vector<std::int64_t> dims(in.shape.dims().begin(), in.shape.dims().begin() + axis);
  const std::vector<std::int64_t>& chosen = op.input(1).shape.dims();
  dims.insert(dims.end(), chosen.begin(), chosen.end());
  dims.insert(dims.end(), in.shape.dims().begin() + axis + 1, in.shape.dims().end());
  return {{in.dtype, shape_of(op, std::move(dims))}};
}

// The input as [outer, extent, bytes]: the axes before the gathered axis, that axis, and the bytes
// of the axes behind it.
struct GatheredBlocks {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t bytes = 1;
};

template <typename Index>
void gather(const GatheredBlocks& blocks, std::int64_t count, const Operands& o) {
  const Index* indices = o.in<Index>(1);
  const std::byte* in = o.in<std::byte>(0);
  std::byte* out = o.out<std::byte>(0);
  StopPace pace;
  for (std::int64_t i = 0; i < blocks.outer; ++i) {
    for (std::int64_t j = 0; j < count; ++j, out += blocks.bytes) {
      pace.step(blocks.bytes);
      const std::int64_t position = checked_index(indices[j], blocks.extent);
      copy_bytes(out, in + (i * blocks.extent + position) * blocks.bytes, blocks.bytes);
    }
  }
}

std::unique_ptr<Operator> make_gather(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  const std::int64_t axis = gather_axis(op);
  GatheredBlocks blocks{0, in.shape[axis], size_of(in.dtype)};
  if (op.output(0).shape.elements() > 0) {
    blocks.outer = 1;
    for (std::int64_t i = 0; i < axis; ++i) blocks.outer *= in.shape[i];
    for (std::int64_t i = axis + 1; i < in.shape.rank(); ++i) blocks.bytes *= in.shape[i];
  }
  return make_for_type(IndexTypes{}, op.input(1).dtype, [&](auto index) {
    using Index = decltype(index);
    return make_operator([blocks, count = op.input(1).shape.elements()](const Operands& o) {
      gather<Index>(blocks, count, o);
    });
  });
}

std::vector<ValueInfo> infer_gather_elements(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  require_type(op, 1, IndexTypes{});
  const Shape& chosen = op.input(1).shape;
  const std::int64_t axis = gather_axis(op);
  bool fits = chosen.rank() == in.shape.rank();
  for (std::int64_t i = 0; fits && i < chosen.rank(); ++i) {
    fits = i == axis || chosen[i] <= in.shape[i];
  }
  op.require(fits, to_text("indices of shape ", chosen.to_string(),
                           " do not fit an input of shape ", in.shape.to_string()));
  return {{in.dtype, chosen}};
}

template <typename T, typename Index>
void gather_elements(const LoopNest<2>& nest, std::int64_t extent, std::int64_t axis_step,
                     const Operands& o) {
  const Index* indices = o.in<Index>(1);
  const T* in = o.in<T>(0);
  T* out = o.out<T>(0);
  const std::int64_t to = nest.inner_step(0);
  const std::int64_t from = nest.inner_step(1);
  nest.run(o.threads(), [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = at[0] + i * to;
      out[position] = in[at[1] + i * from + checked_index(indices[position], extent) * axis_step];
    }
  });
}

std::unique_ptr<Operator> make_gather_elements(const OpContext& op) {
  const std::int64_t axis = gather_axis(op);
  const Shape& shape = op.output(0).shape;
  std::vector<std::int64_t> from = strides_of(op.input(0).shape, Layout::kPlain);
  const std::int64_t axis_step = from[static_cast<std::size_t>(axis)];
  from[static_cast<std::size_t>(axis)] = 0;  // the index selects the position along this axis
  const LoopNest<2> nest(shape.dims(), {strides_of(shape, Layout::kPlain), from});
  const std::int64_t extent = op.input(0).shape[axis];
  return with_element_of(size_of(op.input(0).dtype), [&](auto element) {
    return make_for_type(IndexTypes{}, op.input(1).dtype, [&](auto index) {
      return make_operator([=](const Operands& o) {
        gather_elements<decltype(element), decltype(index)>(nest, extent, axis_step, o);
      });
    });
  });
}

// The index tuples of GatherND: `batches` times `tuples` tuples of `depth` indices each.
struct Tuples {
  std::int64_t batches = 1;
  std::int64_t tuples = 1;
  std::int64_t depth = 0;
};

struct GatherNd {
  Tuples tuples;
  Shape output;
  std::vector<std::int64_t> extents;  // extents of the axes that a tuple indexes
  std::int64_t block = 1;             // elements that one tuple selects
};

GatherNd resolve_gather_nd(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const Shape& indices = op.input(1).shape;
  const std::int64_t batch_axes = op.node.get_int("batch_dims", 0);
  op.require(in.rank() >= 1 && indices.rank() >= 1,
             to_text("found shapes ", in.to_string(), " and ", indices.to_string(),
                     ", expected at least one axis each"));
  op.require(batch_axes >= 0 && batch_axes < std::min(in.rank(), indices.rank()),
             to_text("attribute 'batch_dims' is ", batch_axes, ", expected less than the axes of ",
                     in.to_string(), " and ", indices.to_string()));
  GatherNd nd;
  nd.tuples.depth = indices[indices.rank() - 1];
  op.require(nd.tuples.depth >= 1 && nd.tuples.depth <= in.rank() - batch_axes,
             to_text("indices of shape ", indices.to_string(), " do not fit an input of shape ",
                     in.to_string()));
  std::vector<std::int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  for (std::int64_t axis = 0; axis + 1 < indices.rank(); ++axis) {
    op.require(axis >= batch_axes || in[axis] == indices[axis],
               to_text("axis ", axis, " of shapes ", in.to_string(), " and ", indices.to_string(),
                       " differs, expected batches of one size"));
  }
  const auto elements_of = [&](const Shape& shape, std::int64_t begin, std::int64_t end) {
    return shape_of(op, {shape.dims().begin() + begin, shape.dims().begin() + end}).elements();
  };
  nd.tuples.batches = elements_of(indices, 0, batch_axes);
  nd.tuples.tuples = elements_of(indices, batch_axes, indices.rank() - 1);
  nd.block = elements_of(in, batch_axes + nd.tuples.depth, in.rank());
  for (std::int64_t axis = batch_axes; axis < in.rank(); ++axis) {
    if (axis < batch_axes + nd.tuples.depth) {
      nd.extents.push_back(in[axis]);
    } else {
      dims.push_back(in[axis]);
    }
  }
  nd.output = shape_of(op, std::move(dims));
  return nd;
}

std::vector<ValueInfo> infer_gather_nd(const OpContext& op) {
  require_type(op, 1, IndexTypes{});
  return {{op.input(0).dtype, resolve_gather_nd(op).output}};
}

std::unique_ptr<Operator> make_gather_nd(const OpContext& op) {
  const GatherNd nd = resolve_gather_nd(op);
  const std::int64_t bytes = nd.block * size_of(op.input(0).dtype);
  if (nd.output.elements() == 0) return make_operator([](const Operands&) {});
  return make_for_type(IndexTypes{}, op.input(1).dtype, [&](auto index) {
    using Index = decltype(index);
    return make_operator([nd, bytes](const Operands& o) {
      const Index* tuple = o.in<Index>(1);
      std::byte* out = o.out<std::byte>(0);
      StopPace pace;
      for (std::int64_t i = 0; i < nd.tuples.batches * nd.tuples.tuples; ++i, out += bytes) {
        pace.step(bytes);
        std::int64_t place = i / nd.tuples.tuples;
        for (const std::int64_t extent : nd.extents) {
          place = place * extent + checked_index(*tuple++, extent);
        }
        copy_bytes(out, o.in<std::byte>(0) + place * bytes, bytes);
      }
    });
  });
}

}  // namespace

OpDef op_Gather() { return {infer_gather, make_gather}; }
OpDef op_GatherElements() { return {infer_gather_elements, make_gather_elements}; }
OpDef op_GatherND() { return {infer_gather_nd, make_gather_nd}; }

}  // namespace qtool
