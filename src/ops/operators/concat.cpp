#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

// Concat and Split: strided copies between a whole tensor and its parts along one axis.
namespace qtool {
namespace {

// The copy between one part and its range in the whole tensor.
struct Part {
  LoopNest<2> nest;     // offsets count from the first element of the part
  std::int64_t offset;  // where the part begins in the whole tensor, elements
};

std::unique_ptr<Operator> make_concat(const OpContext& op) {
  const std::int64_t axis = axis_of(op, op.node.get_int("axis", 0), op.input(0).shape.rank());
  const std::vector<std::int64_t> whole = strides_of(op.output(0).shape, op.output_layout(0));
  const std::int64_t step = whole[static_cast<std::size_t>(axis)];
  std::vector<Part> parts;
  std::int64_t position = 0;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Shape& shape = op.input(i).shape;
    parts.push_back(
        {{shape.dims(), {whole, strides_of(shape, op.input_layout(i))}}, position * step});
    position += shape[axis];
  }
  return make_operator(
      [parts = std::move(parts), bytes = size_of(op.input(0).dtype)](const Operands& o) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
          copy_strided(parts[i].nest, bytes, o.out<std::byte>(0) + parts[i].offset * bytes,
                       o.in<std::byte>(i), o.threads());
        }
      });
}

std::vector<std::int64_t> split_extents(const OpContext& op, std::int64_t axis) {
  const std::int64_t extent = op.input(0).shape[axis];
  const auto count = static_cast<std::int64_t>(op.node.outputs.size());
  op.require(count > 0, "found no outputs, expected at least one");
  if (!op.has_input(1)) {
    op.require(extent % count == 0, to_text("axis ", axis, " has extent ", extent, ", which ",
                                            count, " outputs do not divide evenly"));
    return std::vector<std::int64_t>(static_cast<std::size_t>(count), extent / count);
  }
  std::vector<std::int64_t> extents = ints_of(op, 1, "the list of extents");
  op.require(static_cast<std::int64_t>(extents.size()) == count,
             to_text("found ", extents.size(), " extents for ", count, " outputs"));
  std::int64_t sum = 0;
  for (const std::int64_t part : extents) sum += shape_of(op, {part})[0];
  op.require(sum == extent,
             to_text("the parts add up to ", sum, ", axis ", axis, " has extent ", extent));
  return extents;
}

std::vector<ValueInfo> infer_split(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  const std::int64_t axis = axis_of(op, op.node.get_int("axis", 0), in.shape.rank());
  std::vector<ValueInfo> parts;
  for (const std::int64_t extent : split_extents(op, axis)) {
    std::vector<std::int64_t> dims = in.shape.dims();
    dims[static_cast<std::size_t>(axis)] = extent;
    parts.push_back({in.dtype, Shape(std::move(dims))});
  }
  return parts;
}

std::unique_ptr<Operator> make_split(const OpContext& op) {
  const std::int64_t axis = axis_of(op, op.node.get_int("axis", 0), op.input(0).shape.rank());
  const std::vector<std::int64_t> whole = strides_of(op.input(0).shape, op.input_layout(0));
  const std::int64_t step = whole[static_cast<std::size_t>(axis)];
  const std::vector<std::int64_t> extents = split_extents(op, axis);
  std::vector<std::pair<std::size_t, Part>> parts;
  std::int64_t position = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (op.node.has_output(i)) {
      const Shape& shape = op.output(i).shape;
      parts.push_back(
          {i, {{shape.dims(), {strides_of(shape, op.output_layout(i)), whole}}, position * step}});
    }
    position += extents[i];
  }
  return make_operator(
      [parts = std::move(parts), bytes = size_of(op.input(0).dtype)](const Operands& o) {
        for (const auto& [i, part] : parts) {
          copy_strided(part.nest, bytes, o.out<std::byte>(i),
                       o.in<std::byte>(0) + part.offset * bytes, o.threads());
        }
      });
}

}  // namespace

OpDef op_Concat() {
  return {[](const OpContext& op) { return std::vector<ValueInfo>{concatenated(op)}; }, make_concat,
          LayoutRule::kAny};
}
OpDef op_Split() { return {infer_split, make_split, LayoutRule::kAny}; }

}  // namespace qtool
