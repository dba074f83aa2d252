#include "qtool/quantize/target.h"
#include "quantize/targets/ops_by_target.h"

namespace qtool {

Target target_tflite_like();

/// The 8-bit scheme of TensorFlow Lite (LiteRT), as ONNX: for converters and devices that follow
/// it. Activations are s8 with a zero point. Weights are symmetric s8 in [-127, 127]: convolutions
/// have one scale per output channel, matrix products have one scale. Biases are s32 with the scale
/// s_x s_w[c]. Operators that move values, MaxPool and AveragePool keep the scale and zero point of
/// their input, and all operands of a Concat have the scale and zero point of its result. The
/// scales and zero points of the results of Sigmoid and Tanh are prescribed. The global average is
/// a mean in TensorFlow Lite, and its result has a scale and zero point of its own.
/// Source: TensorFlow Lite 8-bit quantization specification, "int8 quantized operator
/// specifications".
Target target_tflite_like() {
  Target target;
  target.name = "tflite-like";
  target.description =
      "TensorFlow Lite's 8-bit scheme: s8 activations with zero points, s8 weights";
  target.activations = {DType::kInt8, 8, Symmetry::kAsymmetric};
  target.weights = {DType::kInt8, 8, Symmetry::kSymmetric};
  target.weight_granularity = Granularity::kPerChannel;
  target.per_tensor_weight_ops = {"Gemm", "MatMul"};
  target.ops = ops_of(TargetBit::tflite_like);
  target.same_affine_ops = {"AveragePool"};
  target.fixed_results = {{"Sigmoid", {1.0F / 256, -128}}, {"Tanh", {1.0F / 128, 0}}};
  target.fused_activations = {"Relu", "Clip"};
  target.fusing_producers = {"Conv", "Gemm", "MatMul", "Add"};
  target.integer_result_ops = {"Conv", "Gemm", "MatMul"};
  target.conv_spatial_axes = {2};
  target.concat_min_share = 0.0;
  return target;
}

}  // namespace qtool
