#include "qtool/quantize/target.h"

namespace qtool {

Target target_cpu();

/// This toolkit's executor and ONNX Runtime's CPU provider. Both multiply u8 activations with s8
/// weights. ONNX Runtime runs a convolution in FP32 when its result has no pair, when anything but
/// a Relu or Clip stands before that pair, and when an activation after Relu is symmetric s8: so
/// every activation is u8 with a zero point. Version 1.30 fuses a Gemm only when its weights have
/// zero points.
Target target_cpu() {
  Target target;
  target.name = "cpu";
  target.description = "qtool and ONNX Runtime on CPUs: u8 activations, s8 weights per channel";
  target.activations = {DType::kUInt8, 8, Symmetry::kAsymmetric};
  target.weights = {DType::kInt8, 8, Symmetry::kSymmetric};
  target.weight_granularity = Granularity::kPerChannel;
  target.ops = {
      {"Add", OpKind::kCombining},         {"AveragePool", OpKind::kPooling},
      {"Clip", OpKind::kCombining},        {"Concat", OpKind::kCombining},
      {"Conv", OpKind::kProduct},          {"DepthToSpace", OpKind::kPassing},
      {"Flatten", OpKind::kPassing},       {"Gather", OpKind::kPassing},
      {"Gemm", OpKind::kProduct},          {"GlobalAveragePool", OpKind::kPooling},
      {"HardSigmoid", OpKind::kCombining}, {"HardSwish", OpKind::kCombining},
      {"LeakyRelu", OpKind::kCombining},   {"MatMul", OpKind::kProduct},
      {"MaxPool", OpKind::kPassing},       {"Mul", OpKind::kCombining},
      {"Pad", OpKind::kPassing},           {"Relu", OpKind::kCombining},
      {"Reshape", OpKind::kPassing},       {"Resize", OpKind::kPassing},
      {"Sigmoid", OpKind::kCombining},     {"Slice", OpKind::kPassing},
      {"SpaceToDepth", OpKind::kPassing},  {"Split", OpKind::kPassing},
      {"Squeeze", OpKind::kPassing},       {"Transpose", OpKind::kPassing},
      {"Unsqueeze", OpKind::kPassing},
  };
  target.fused_activations = {"Relu", "Clip"};
  target.fusing_producers = {"Conv", "Gemm", "MatMul", "Add"};
  target.integer_result_ops = {"Conv"};
  target.explicit_zero_ops = {"Gemm", "MatMul"};
  target.conv_spatial_axes = {2};
  target.concat_min_share = 0.5;
  return target;
}

}  // namespace qtool
