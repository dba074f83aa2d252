#include <algorithm>

#include "ops/elementwise.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

// Operators that put the same elements in another order or repeat them: one strided copy each.
namespace qtool {
namespace {

std::vector<std::int64_t> permutation(const OpContext& op) {
  const std::int64_t rank = op.input(0).shape.rank();
  std::vector<std::int64_t> reversed;
  for (std::int64_t axis = rank; axis-- > 0;) reversed.push_back(axis);
  std::vector<std::int64_t> perm = op.node.get_ints("perm", std::move(reversed));
  std::vector<char> seen(static_cast<std::size_t>(rank), 0);
  bool valid = static_cast<std::int64_t>(perm.size()) == rank;
  for (const std::int64_t axis : perm) {
    valid = valid && axis >= 0 && axis < rank && seen[static_cast<std::size_t>(axis)]++ == 0;
  }
  op.require(valid, to_text("attribute 'perm' is not a permutation of ", rank, " axes"));
  return perm;
}

std::vector<ValueInfo> infer_transpose(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : permutation(op)) dims.push_back(in.shape[axis]);
  return {{in.dtype, Shape(std::move(dims))}};
}

std::unique_ptr<Operator> make_transpose(const OpContext& op) {
  const std::vector<std::int64_t> from = strides_of(op.input(0).shape, op.input_layout(0));
  std::vector<std::int64_t> permuted;
  for (const std::int64_t axis : permutation(op)) {
    permuted.push_back(from[static_cast<std::size_t>(axis)]);
  }
  const Shape& shape = op.output(0).shape;
  return make_strided_copy(
      op, LoopNest<2>(shape.dims(), {strides_of(shape, op.output_layout(0)), permuted}));
}

std::vector<ValueInfo> infer_expand(const OpContext& op) {
  const Shape target = shape_of(op, ints_of(op, 1, "the target shape"));
  return {{op.input(0).dtype, broadcast(op, op.input(0).shape, target)}};
}

std::unique_ptr<Operator> make_expand(const OpContext& op) {
  const Shape& shape = op.output(0).shape;
  return make_strided_copy(
      op,
      LoopNest<2>(shape.dims(), {strides_of(shape, op.output_layout(0)),
                                 broadcast_strides(op.input(0).shape, op.input_layout(0), shape)}));
}

std::vector<std::int64_t> repeats_of(const OpContext& op) {
  const std::vector<std::int64_t> repeats = ints_of(op, 1, "the list of repeats");
  const std::int64_t rank = op.input(0).shape.rank();
  op.require(static_cast<std::int64_t>(repeats.size()) == rank,
             to_text("found ", repeats.size(), " repeats for a tensor of rank ", rank));
  return repeats;
}

std::vector<ValueInfo> infer_tile(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  const std::vector<std::int64_t> repeats = repeats_of(op);
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const std::int64_t extent = in.shape[static_cast<std::int64_t>(axis)];
    dims.push_back(shape_of(op, {repeats[axis], extent}).elements());
  }
  return {{in.dtype, shape_of(op, std::move(dims))}};
}

std::unique_ptr<Operator> make_tile(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const std::vector<std::int64_t> repeats = repeats_of(op);
  const std::vector<std::int64_t> to = strides_of(op.output(0).shape, op.output_layout(0));
  const std::vector<std::int64_t> from = strides_of(in, op.input_layout(0));
  // Each axis becomes (copy, position inside the copy).
  std::vector<std::int64_t> extents;
  std::array<std::vector<std::int64_t>, 2> strides;
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const std::int64_t extent = in[static_cast<std::int64_t>(axis)];
    extents.insert(extents.end(), {repeats[axis], extent});
    strides[0].insert(strides[0].end(), {to[axis] * extent, to[axis]});
    strides[1].insert(strides[1].end(), {0, from[axis]});
  }
  return make_strided_copy(op, LoopNest<2>(extents, strides));
}

std::int64_t block_of(const OpContext& op) {
  const std::int64_t block = op.node.get_int("blocksize", 0);
  op.require(block >= 1 && block <= 1 << 20,
             to_text("attribute 'blocksize' is ", block, ", expected a positive number"));
  op.require(
      op.input(0).shape.rank() == 4,
      to_text("the input has shape ", op.input(0).shape.to_string(), ", expected four axes"));
  return block;
}

// Whether DepthToSpace reads channels as (block row, block column, channel).
bool depth_first(const OpContext& op) {
  const std::string mode = op.node.get_string("mode", "DCR");
  op.require(mode == "DCR" || mode == "CRD",
             to_text("attribute 'mode' is '", mode, "', expected DCR or CRD"));
  return mode == "DCR";
}

std::vector<ValueInfo> infer_depth_to_space(const OpContext& op) {
  const std::int64_t block = block_of(op);
  static_cast<void>(depth_first(op));
  const ValueInfo& in = op.input(0);
  const Shape& shape = in.shape;
  op.require(shape[1] % (block * block) == 0,
             to_text(shape[1], " channels are not a multiple of blocks of ", block, " x ", block));
  return {{in.dtype, shape_of(op, {shape[0], shape[1] / (block * block),
                                   shape_of(op, {shape[2], block}).elements(),
                                   shape_of(op, {shape[3], block}).elements()})}};
}

std::vector<ValueInfo> infer_space_to_depth(const OpContext& op) {
  const std::int64_t block = block_of(op);
  const ValueInfo& in = op.input(0);
  const Shape& shape = in.shape;
  op.require(shape[2] % block == 0 && shape[3] % block == 0,
             to_text("an input of shape ", shape.to_string(), " has no whole blocks of ", block,
                     " x ", block));
  return {{in.dtype, shape_of(op, {shape[0], shape_of(op, {shape[1], block, block}).elements(),
                                   shape[2] / block, shape[3] / block})}};
}

enum class BlockOrder : std::uint8_t { kBlockThenChannel, kChannelThenBlock };

// Loops over (n, c, y, x, block row, block column); `deep` has the blocks in its channels, `wide`
// in its pixels.
std::pair<std::vector<std::int64_t>, std::array<std::vector<std::int64_t>, 2>> block_loops(
    const Shape& wide, Layout wide_layout, const Shape& deep, Layout deep_layout,
    std::int64_t block, BlockOrder order) {
  const std::vector<std::int64_t> w = strides_of(wide, wide_layout);
  const std::vector<std::int64_t> d = strides_of(deep, deep_layout);
  const std::int64_t channels = wide[1];
  const bool block_first = order == BlockOrder::kBlockThenChannel;
  const std::int64_t channel_step = block_first ? 1 : block * block;
  const std::int64_t block_step = block_first ? channels : 1;
  return {{wide[0], channels, deep[2], deep[3], block, block},
          {std::vector<std::int64_t>{w[0], w[1], w[2] * block, w[3] * block, w[2], w[3]},
           std::vector<std::int64_t>{d[0], d[1] * channel_step, d[2], d[3],
                                     d[1] * block_step * block, d[1] * block_step}}};
}

std::unique_ptr<Operator> make_depth_to_space(const OpContext& op) {
  const auto [extents, strides] = block_loops(
      op.output(0).shape, op.output_layout(0), op.input(0).shape, op.input_layout(0), block_of(op),
      depth_first(op) ? BlockOrder::kBlockThenChannel : BlockOrder::kChannelThenBlock);
  return make_strided_copy(op, LoopNest<2>(extents, {strides[0], strides[1]}));
}

std::unique_ptr<Operator> make_space_to_depth(const OpContext& op) {
  const auto [extents, strides] =
      block_loops(op.input(0).shape, op.input_layout(0), op.output(0).shape, op.output_layout(0),
                  block_of(op), BlockOrder::kBlockThenChannel);
  return make_strided_copy(op, LoopNest<2>(extents, {strides[1], strides[0]}));
}

}  // namespace

OpDef op_Transpose() { return {infer_transpose, make_transpose}; }
OpDef op_Expand() { return {infer_expand, make_expand}; }
OpDef op_Tile() { return {infer_tile, make_tile}; }
OpDef op_DepthToSpace() { return {infer_depth_to_space, make_depth_to_space, LayoutRule::kAny}; }
OpDef op_SpaceToDepth() { return {infer_space_to_depth, make_space_to_depth, LayoutRule::kAny}; }

}  // namespace qtool
