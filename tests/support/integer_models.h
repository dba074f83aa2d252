#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "support/control_flow_models.h"

// Models in ONNX's text form, as seeds for fuzzers. Their operators run on integers and do not
// occur in usual networks for images: two activations, one or three spatial axes, interpolation,
// normalization, ranks.
namespace qtool {

/// `body` computes `r` from the dequantized `d`, and may read `e`, another tensor of the same
/// shape.
inline TextModel integer_model(const std::string& name, const std::string& shape,
                               const std::string& body, const std::string& constants = "") {
  return {to_text("pair_", name),
          to_text("<ir_version: 8, opset_import: [\"\" : 17]>\nm (float[", shape,
                  "] x) => (float[a] y)\n<float s = {0.05}, uint8 z = {7}, float t = {0.02}, ",
                  "uint8 k = {90}", constants.empty() ? "" : ", ", constants,
                  ">\n{\n  q = QuantizeLinear(x, s, z)\n  d = DequantizeLinear(q, s, z)\n"
                  "  h = Sigmoid(d)\n  p = QuantizeLinear(h, t, k)\n"
                  "  e = DequantizeLinear(p, t, k)\n  ",
                  body, "\n  v = QuantizeLinear(r, t, k)\n  y = DequantizeLinear(v, t, k)\n}\n")};
}

inline std::vector<TextModel> integer_models() {
  const std::string image = "1,2,5,4";
  const std::string row_weights = "int8[2,2,3] wq = {1,-2,3,4,-5,6,7,8,-9,1,2,3}, float ws = {0.1}";
  const std::string volume_weights = "int8[1,2,2,1,2] wq = {1,-2,3,4,-5,6,7,8}, float ws = {0.1}";
  const std::string weights = "w = DequantizeLinear(wq, ws)\n  ";
  return {
      integer_model("sub", image, "r = Sub(d, e)"),
      integer_model("div", image, "r = Div(d, e)"),
      integer_model("min", image, "r = Min(e, d)"),
      integer_model("max", image, "r = Max(d, e)"),
      integer_model("square", image, "f = Sub(d, e)\n  r = Mul(f, f)"),
      integer_model("power", image, "f = Sub(d, e)\n  r = Pow(f, two)", "float two = {2}"),
      integer_model("mean", image, "r = ReduceMean <axes = [2, 3], keepdims = 0> (d)"),
      integer_model("resize", image, "r = Resize <mode = \"linear\"> (d, none, scales)",
                    "float[0] none = {}, float[4] scales = {1, 1, 1.5, 2}"),
      integer_model("normalize", image, "r = InstanceNormalization(d, g, b)",
                    "float[2] g = {1, 2}, float[2] b = {0, 1}"),
      integer_model("rank", image, "i = ArgMax <axis = 1> (d)\n  r = Cast <to = 1> (i)"),
      integer_model("row_conv", "1,2,9",
                    weights + "c = Conv <pads = [1, 1], strides = [2]> (d, w)\n  r = Relu(c)",
                    row_weights),
      integer_model("row_transposed", "1,2,9",
                    weights + "r = ConvTranspose <strides = [2], output_padding = [1]> (d, w)",
                    row_weights),
      integer_model("row_pools", "1,2,9",
                    "m = MaxPool <kernel_shape = [3]> (d)\n"
                    "  mq = QuantizeLinear(m, s, z)\n  md = DequantizeLinear(mq, s, z)\n"
                    "  r = AveragePool <kernel_shape = [2], pads = [1, 0]> (md)"),
      integer_model("volume_conv", "1,2,3,3,4",
                    weights + "r = Conv <pads = [1, 0, 0, 0, 0, 1]> (d, w)", volume_weights),
      integer_model("volume_pools", "1,2,3,3,4",
                    "m = MaxPool <kernel_shape = [2, 1, 2]> (d)\n"
                    "  mq = QuantizeLinear(m, s, z)\n  md = DequantizeLinear(mq, s, z)\n"
                    "  r = AveragePool <kernel_shape = [2, 2, 2], pads = [1, 0, 0, 0, 1, 1]> (md)"),
  };
}

}  // namespace qtool
