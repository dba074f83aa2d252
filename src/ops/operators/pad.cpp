#include <algorithm>
#include <cstring>

#include "base/stop.h"
#include "ops/index_map.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };

PadMode mode_of(const OpContext& op) {
  const std::string mode = op.node.get_string("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  op.fail(to_text("attribute 'mode' is '", mode, "', expected constant, reflect, edge or wrap"));
}

// Elements added before and behind each axis; negative ones are removed.
std::vector<std::int64_t> pads_of(const OpContext& op) {
  std::vector<std::int64_t> pads = ints_of(op, 1, "the list of pads");
  const std::int64_t rank = op.input(0).shape.rank();
  op.require(static_cast<std::int64_t>(pads.size()) == 2 * rank,
             to_text("found ", pads.size(), " pads for a tensor of rank ", rank));
  constexpr std::int64_t kMaxPad = std::int64_t{1} << 40;
  for (const std::int64_t pad : pads) {
    op.require(pad >= -kMaxPad && pad <= kMaxPad, to_text("a pad of ", pad, " is out of range"));
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
               to_text("negative pads remove more than the ", extent, " elements of axis ", axis));
    const std::int64_t most = std::max(before, behind);
    if (mode != PadMode::kConstant && most > 0) {
      const std::int64_t limit = mode == PadMode::kReflect ? extent - 1 : most;
      op.require(extent > 0 && most <= limit,
                 to_text("a pad of ", most, " does not fit axis ", axis, " of extent ", extent));
    }
    dims.push_back(extent + before + behind);
  }
  return {{in.dtype, shape_of(op, std::move(dims))}};
}

// Fills with a constant, then copies the part of the input that stays.
std::unique_ptr<Operator> make_constant_pad(const OpContext& op,
                                            const std::vector<std::int64_t>& pads) {
  const Shape& in = op.input(0).shape;
  const Shape& out = op.output(0).shape;
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
      const std::byte* value = o.has_input(2) ? o.in<std::byte>(2) : zero;  // only Pad has it
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
  std::vector<std::vector<std::int64_t>> positions;
  StopPace pace;
  for (std::int64_t axis = 0; axis < out.rank(); ++axis) {
    const std::int64_t last = in[axis] - 1;
    std::vector<std::int64_t> table;
    claim_index_tables(op, out[axis]);
    for (std::int64_t o = 0; o < out[axis]; ++o) {
      pace.step();
      std::int64_t position = o - pads[static_cast<std::size_t>(axis)];
      if (mode == PadMode::kWrap && last >= 0) {
        position %= last + 1;
        position = position < 0 ? position + last + 1 : position;
      } else if (mode == PadMode::kReflect) {
        position = position < 0 ? -position : position;
        position = position > last ? 2 * last - position : position;
      }
      table.push_back(std::clamp<std::int64_t>(position, 0, std::max<std::int64_t>(last, 0)));
    }
    positions.push_back(std::move(table));
  }
  return make_operator([map = IndexMap(in, op.input_layout(0), out, op.output_layout(0), positions),
                        bytes = size_of(op.input(0).dtype)](const Operands& o) {
    map.copy(bytes, o.out<std::byte>(0), o.in<std::byte>(0), o.threads());
  });
}

std::unique_ptr<Operator> make_pad(const OpContext& op) {
  const PadMode mode = mode_of(op);
  return mode == PadMode::kConstant ? make_constant_pad(op, pads_of(op))
                                    : make_mirrored_pad(op, mode);
}

// CenterCropPad: the pads that give the wanted extents. Negative pads crop. If the difference is
// odd, the pad at the beginning is the smaller one.
std::vector<std::int64_t> centering_pads(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const std::vector<std::int64_t> wanted = ints_of(op, 1, "the wanted shape");
  std::vector<std::int64_t> axes = op.node.get_ints("axes", {});
  if (!op.node.has("axes")) {
    for (std::int64_t axis = 0; axis < in.rank(); ++axis) axes.push_back(axis);
  }
  op.require(wanted.size() == axes.size(),
             to_text("found ", wanted.size(), " extents for ", axes.size(), " axes"));
  for (std::int64_t& axis : axes) axis = axis_of(op, axis, in.rank());
  static_cast<void>(axes_of(op, axes, in.rank()));  // throws when an axis is listed twice
  const auto rank = static_cast<std::size_t>(in.rank());
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::int64_t missing = shape_of(op, {wanted[i]})[0] - in[axes[i]];
    pads[axis] = missing / 2;  // towards zero in both cases
    pads[axis + rank] = missing - pads[axis];
  }
  return pads;
}

std::vector<ValueInfo> infer_center(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const std::vector<std::int64_t> pads = centering_pads(op);
  std::vector<std::int64_t> dims = in.dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    dims[axis] += pads[axis] + pads[axis + dims.size()];
  }
  return {{op.input(0).dtype, shape_of(op, std::move(dims))}};
}

}  // namespace

OpDef op_CenterCropPad() {
  return {infer_center,
          [](const OpContext& op) { return make_constant_pad(op, centering_pads(op)); },
          LayoutRule::kAny};
}
OpDef op_Pad() { return {infer_pad, make_pad, LayoutRule::kAny}; }

}  // namespace qtool
