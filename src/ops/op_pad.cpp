#include <algorithm>
#include <cstring>

#include "ops/index_map.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge };

PadMode mode_of(const OpContext& op) {
  const std::string mode = op.node.get_string("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  op.fail(concat("attribute 'mode' is '", mode, "', expected constant, reflect or edge"));
}

// Elements added before and behind each axis; negative ones are removed.
std::vector<std::int64_t> pads_of(const OpContext& op) {
  std::vector<std::int64_t> pads = ints_of(op, 1, "the list of pads");
  const std::int64_t rank = op.input(0).shape.rank();
  op.require(static_cast<std::int64_t>(pads.size()) == 2 * rank,
             concat("found ", pads.size(), " pads for a tensor of rank ", rank));
  constexpr std::int64_t kMaxPad = std::int64_t{1} << 40;
  for (const std::int64_t pad : pads) {
    op.require(pad >= -kMaxPad && pad <= kMaxPad, concat("a pad of ", pad, " is out of range"));
  }
  return pads;
}

std::vector<ValueInfo> infer_pad(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  const PadMode mode = mode_of(op);
  const std::vector<std::int64_t> pads = pads_of(op);
  if (op.has_input(2)) {
    require_same_type(op, 0, 2);
    require_single(op, 2, "the padding value");
  }
  const auto rank = static_cast<std::size_t>(in.shape.rank());
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t before = pads[axis];
    const std::int64_t behind = pads[axis + rank];
    const std::int64_t extent = shape_of(op, {in.shape[static_cast<std::int64_t>(axis)]})[0];
    op.require(extent + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(behind, 0) >= 0,
               concat("negative pads remove more than the ", extent, " elements of axis ", axis));
    const std::int64_t most = std::max(before, behind);
    if (mode != PadMode::kConstant && most > 0) {
      const std::int64_t limit = mode == PadMode::kReflect ? extent - 1 : most;
      op.require(extent > 0 && most <= limit,
                 concat("a pad of ", most, " does not fit axis ", axis, " of extent ", extent));
    }
    dims.push_back(extent + before + behind);
  }
  return {{in.dtype, shape_of(op, std::move(dims))}};
}

// Fills with a constant, then copies the part of the input that stays.
std::unique_ptr<Operator> make_constant_pad(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const Shape& out = op.output(0).shape;
  const std::vector<std::int64_t> pads = pads_of(op);
  const std::vector<std::int64_t> to = strides_of(out, op.output_layout(0));
  const std::vector<std::int64_t> from = strides_of(in, op.input_layout(0));
  std::vector<std::int64_t> kept;
  std::int64_t target_offset = 0;
  std::int64_t source_offset = 0;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const std::int64_t before = pads[axis];
    const std::int64_t behind = pads[axis + to.size()];
    kept.push_back(in[static_cast<std::int64_t>(axis)] + std::min<std::int64_t>(before, 0) +
                   std::min<std::int64_t>(behind, 0));
    target_offset += std::max<std::int64_t>(before, 0) * to[axis];
    source_offset += std::max<std::int64_t>(-before, 0) * from[axis];
  }
  const LoopNest<2> nest(kept, {to, from});
  if (nest.total() == 0) target_offset = source_offset = 0;
  return make_operator([nest, target_offset, source_offset, elements = out.elements(),
                        bytes = size_of(op.input(0).dtype)](const Operands& o) {
    std::byte* target = o.out<std::byte>(0);
    if (nest.total() != elements) {
      const std::byte zero[8] = {};
      const std::byte* value = o.has_input(2) ? o.in<std::byte>(2) : zero;
      const LoopNest<2> fill({elements}, {std::vector<std::int64_t>{1}, {0}});
      copy_strided(fill, bytes, target, value, o.threads());
    }
    copy_strided(nest, bytes, target + target_offset * bytes,
                 o.in<std::byte>(0) + source_offset * bytes, o.threads());
  });
}

std::unique_ptr<Operator> make_mirrored_pad(const OpContext& op, PadMode mode) {
  const Shape& in = op.input(0).shape;
  const Shape& out = op.output(0).shape;
  const std::vector<std::int64_t> pads = pads_of(op);
  std::vector<std::vector<std::int64_t>> places;
  for (std::int64_t axis = 0; axis < out.rank(); ++axis) {
    const std::int64_t last = in[axis] - 1;
    std::vector<std::int64_t> table;
    for (std::int64_t o = 0; o < out[axis]; ++o) {
      std::int64_t place = o - pads[static_cast<std::size_t>(axis)];
      if (mode == PadMode::kReflect) {
        place = place < 0 ? -place : place;
        place = place > last ? 2 * last - place : place;
      }
      table.push_back(std::clamp<std::int64_t>(place, 0, std::max<std::int64_t>(last, 0)));
    }
    places.push_back(std::move(table));
  }
  return make_operator([map = IndexMap(in, op.input_layout(0), out, op.output_layout(0), places),
                        bytes = size_of(op.input(0).dtype)](const Operands& o) {
    map.copy(bytes, o.out<std::byte>(0), o.in<std::byte>(0), o.threads());
  });
}

std::unique_ptr<Operator> make_pad(const OpContext& op) {
  const PadMode mode = mode_of(op);
  return mode == PadMode::kConstant ? make_constant_pad(op) : make_mirrored_pad(op, mode);
}

}  // namespace

OpDef op_Pad() { return {infer_pad, make_pad, LayoutRule::kAny}; }

}  // namespace qtool
