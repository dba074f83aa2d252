#include "qtool/quantize/target.h"
#include "quantize/targets/ops_by_target.h"

namespace qtool {

Target target_cpu();

/// qtool's executor and ONNX Runtime's CPU provider. Both multiply u8 activations with s8 weights.
/// ONNX Runtime runs a convolution in FP32 when its result has no pair, when an operator other than
/// Relu or Clip is between the convolution and the pair, and when an activation after Relu is
/// symmetric s8. So every activation is u8 with a zero point. ONNX Runtime 1.30 fuses a Gemm only
/// when its weights have zero points. Without VNNI instructions it adds the products of two weights
/// in 16 bits. It computes LSTM, GRU and RNN in FP32 between their pairs. They are listed because
/// qtool multiplies integers there, and because their weights are smaller in both.
Target target_cpu() {
  Target target;
  target.name = "cpu";
  target.description = "qtool and ONNX Runtime on CPUs: u8 activations, s8 weights per channel";
  target.activations = {DType::kUInt8, 8, Symmetry::kAsymmetric};
  target.weights = {DType::kInt8, 8, Symmetry::kSymmetric};
  target.weight_granularity = Granularity::kPerChannel;
  target.adds_pairs_in_16_bits = true;
  target.forms = {ModelForm::kQdq, ModelForm::kQOperator};
  target.ops = ops_of(TargetBit::cpu);
  target.fused_activations = {"Relu", "Clip"};
  target.fusing_producers = {"Conv", "Gemm", "MatMul", "Add"};
  target.integer_result_ops = {"Conv"};
  target.explicit_zero_ops = {"Gemm", "MatMul"};
  target.conv_spatial_axes = {1, 2, 3};
  target.concat_min_share = 0.5;
  return target;
}

}  // namespace qtool
