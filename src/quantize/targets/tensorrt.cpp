#include "qtool/quantize/target.h"
#include "quantize/targets/ops_by_target.h"

namespace qtool {

Target target_tensorrt();

/// TensorRT's explicit quantization (versions 8 to 11): symmetric int8 with zero point 0
/// everywhere, FP32 weights followed by a Q/DQ pair per channel, biases in FP32. Pairs are placed
/// on the inputs of operators. TensorRT fuses the BatchNormalization, activation and residual Add
/// after a convolution into it. So there is no pair between them, and only the shortcut of the Add
/// is read as integers. TensorRT moves pairs across operators that only move values, and needs one
/// scale for all inputs of a Concat. Source: NVIDIA TensorRT Developer Guide, "Working with
/// Quantized Types", placement of Q/DQ. The weights of a ConvTranspose share one scale, because
/// TensorRT takes none per output channel there (NVIDIA/TensorRT, issue 2380).
Target target_tensorrt() {
  Target target;
  target.name = "tensorrt";
  target.description = "TensorRT's explicit quantization: symmetric s8, weights and biases in FP32";
  target.activations = {DType::kInt8, 8, Symmetry::kSymmetric};
  target.weights = {DType::kInt8, 8, Symmetry::kSymmetric};
  target.weight_granularity = Granularity::kPerChannel;
  target.per_tensor_weight_ops = {"ConvTranspose"};
  target.constants = ConstantForm::kReals;
  target.ops = ops_of(TargetBit::tensorrt);
  target.movers = Movers::kCommute;
  target.fused_activations = {"Relu", "Clip"};
  target.fusing_producers = {"Conv", "Gemm", "MatMul", "Add"};
  target.residual_producers = {"Conv"};
  target.conv_spatial_axes = {2, 3};
  target.concat_min_share = 0.0;
  return target;
}

}  // namespace qtool
