// DynamicQuantizeLSTM: an LSTM with integer weights that determines the scale of its input at run
// time.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

/// The indices of the inputs that hold weights, [directions, depth, rows], their scales and their
/// zero points, [directions] or [directions, rows].
struct Ports {
  std::size_t weights;
  std::size_t scale;
  std::size_t zero_point;
};

const Tensor& require_constant(const Upgrade& up, std::size_t index) {
  const Tensor* tensor = up.constant(index);
  if (tensor == nullptr) {
    up.fail(to_text("input ", index, " depends on the data; only constants are supported"));
  }
  return *tensor;
}

// The scales or zero points at input `index`, with one element for each row of each direction.
Tensor by_row(const Upgrade& up, std::size_t index, std::int64_t directions, std::int64_t rows) {
  const Tensor& given = require_constant(up, index);
  const std::int64_t each = given.elements() / directions;
  if (given.elements() != directions && given.elements() != directions * rows) {
    up.fail(to_text("input ", index, " has ", given.elements(), " elements, expected ", directions,
                    " or ", directions * rows));
  }
  Tensor spread(given.dtype(), {directions * rows});
  const std::int64_t size = spread.bytes() / spread.elements();
  for (std::int64_t i = 0; i < directions * rows; ++i) {
    const std::int64_t from = each == 1 ? i / rows : i;
    std::copy_n(given.data() + from * size, size, spread.data() + i * size);
  }
  return spread;
}

// Dequantizes the weights and brings them into the layout of LSTM. The scales of DequantizeLinear
// lie along one axis only. Therefore the weights are first reshaped to a matrix with the rows of
// all directions.
void dequantize(Upgrade& up, const Ports& ports, const std::string& name) {
  const Tensor& weights = require_constant(up, ports.weights);
  const Shape& shape = weights.shape();
  if (shape.rank() != 3 || weights.elements() == 0 || up.constant(ports.scale) == nullptr ||
      up.constant(ports.scale)->dtype() != DType::kFloat32) {
    up.fail(
        to_text("weights ", shape.to_string(), ", expected rank 3 and constant scales of float32"));
  }
  const std::int64_t rows = shape[0] * shape[2];
  const ValueId matrix =
      up.before("Reshape",
                {up.before("Transpose", {up.input(ports.weights)}, name + "_rows",
                           {{"perm", std::vector<std::int64_t>{0, 2, 1}}}),
                 up.add_ints(name + "_matrix_shape", {rows, shape[1]})},
                name + "_matrix");
  const ValueId scale =
      up.add_constant(name + "_scale", by_row(up, ports.scale, shape[0], shape[2]));
  const ValueId zero_point =
      up.add_constant(name + "_zero", by_row(up, ports.zero_point, shape[0], shape[2]));
  const ValueId reals = up.before("DequantizeLinear", {matrix, scale, zero_point}, name + "_reals",
                                  {{"axis", std::int64_t{0}}});
  up.set_input(
      ports.weights,
      up.before("Reshape", {reals, up.add_ints(name + "_shape", {shape[0], shape[2], shape[1]})},
                name + "_gates"));
}

}  // namespace

// Inputs: X, W, R, B, sequence_lens, initial_h, initial_c, P, then scale and zero point of W and of
// R. ONNX Runtime also rounds the hidden state to 8 bits in each step. The definition of the
// operator leaves that open, and qtool does not do it.
void upgrade_dynamic_quantize_lstm(Upgrade& up) {
  dequantize(up, {1, 8, 9}, "w");
  dequantize(up, {2, 10, 11}, "r");
  up.truncate_inputs(8);
  const std::vector<ValueId> x =
      up.before_all("DynamicQuantizeLinear", {up.input(0)}, {"x", "x_scale", "x_zero"});
  up.set_input(0, up.before("DequantizeLinear", {x[0], x[1], x[2]}, "x_reals"));
  up.set_op("LSTM");
}

}  // namespace qtool
