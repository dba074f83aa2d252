#include "ops/recurrent/spec.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/text.h"
#include "ops/infer_rules.h"

namespace qtool {
namespace {

void require_tensor(const OpContext& op, std::size_t input, DType dtype, const Shape& expected,
                    std::string_view what) {
  op.require(op.input(input).dtype == dtype,
             to_text(what, " is ", name_of(op.input(input).dtype), ", expected ", name_of(dtype)));
  op.require(op.input(input).shape == expected,
             to_text(what, " has shape ", op.input(input).shape.to_string(), ", expected ",
                     expected.to_string()));
}

Shape state_shape(const RecurrentSpec& spec) {
  return spec.batch_first ? Shape{spec.batch, spec.directions(), spec.hidden}
                          : Shape{spec.directions(), spec.batch, spec.hidden};
}

}  // namespace

RecurrentSpec recurrent_spec(const OpContext& op, std::int64_t gates,
                             std::initializer_list<std::string_view> defaults) {
  RecurrentSpec spec;
  spec.gates = gates;
  const std::string direction = op.node.get_string("direction", "forward");
  op.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
             to_text("direction '", direction, "' is unknown"));
  if (direction != "reverse") spec.reverse.push_back(false);
  if (direction != "forward") spec.reverse.push_back(true);
  spec.batch_first = op.node.get_int("layout", 0) != 0;
  const Shape& x = op.input(0).shape;
  const Shape& r = op.input(2).shape;
  spec.integer = op.node.domain == kLoweredDomain;
  const DType weights = spec.integer ? DType::kInt8 : DType::kFloat32;
  if (!spec.integer) require_type(op, 0, FloatType{});
  op.require(x.rank() == 3 && r.rank() == 3,
             to_text("X ", x.to_string(), " and R ", r.to_string(), " must have rank 3"));
  spec.steps = x[spec.batch_first ? 1 : 0];
  spec.batch = x[spec.batch_first ? 0 : 1];
  spec.inputs = x[2];
  spec.hidden = r[2];
  const std::int64_t declared = op.node.get_int("hidden_size", spec.hidden);
  op.require(declared == spec.hidden,
             to_text("hidden_size is ", declared, ", R has ", spec.hidden));
  op.require(spec.inputs >= 1 && spec.hidden >= 1, "a tensor is empty");
  const std::int64_t columns = shape_of(op, {gates, spec.hidden}).elements();
  require_tensor(op, 1, weights, {spec.directions(), columns, spec.inputs}, "W");
  require_tensor(op, 2, weights, {spec.directions(), columns, spec.hidden}, "R");
  if (op.has_input(3)) {
    require_tensor(op, 3, DType::kFloat32, {spec.directions(), 2 * columns}, "B");
  };
  if (op.has_input(4)) {
    op.require(op.input(4).dtype == DType::kInt32 && op.input(4).shape == Shape{spec.batch},
               to_text("sequence_lens is ", name_of(op.input(4).dtype), " ",
                       op.input(4).shape.to_string(), ", expected int32 [", spec.batch, "]"));
  }
  if (op.has_input(5)) require_state(op, spec, 5);
  spec.clip = op.node.get_float("clip", std::numeric_limits<float>::infinity());
  op.require(spec.clip > 0.0F, to_text("clip is ", spec.clip, ", expected a positive number"));
  spec.functions = read_gate_functions(op, spec.directions(), defaults);
  return spec;
}

void require_state(const OpContext& op, const RecurrentSpec& spec, std::size_t input) {
  require_tensor(op, input, DType::kFloat32, state_shape(spec), "the initial state");
}

std::vector<ValueInfo> infer_recurrent(const OpContext& op, const RecurrentSpec& spec,
                                       std::int64_t states) {
  // No memory that run() needs has more elements than this.
  static_cast<void>(shape_of(op, {spec.steps, spec.batch, spec.directions(), spec.columns()}));
  const Shape y = spec.batch_first ? Shape{spec.batch, spec.steps, spec.directions(), spec.hidden}
                                   : Shape{spec.steps, spec.directions(), spec.batch, spec.hidden};
  std::vector<ValueInfo> infos{{DType::kFloat32, y}};
  infos.resize(static_cast<std::size_t>(states) + 1, {DType::kFloat32, state_shape(spec)});
  require_outputs(op, infos.size());
  return infos;
}

}  // namespace qtool
