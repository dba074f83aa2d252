#include "qtool/quantize/target.h"
#include "quantize/targets/ops_by_target.h"

namespace qtool {

Target target_openvino();

/// OpenVINO's CPU and GPU plugins. They read QuantizeLinear and DequantizeLinear as FakeQuantize
/// and run an operator on integers when every input of it is quantized. Activations are u8 with one
/// scale and zero point for the tensor (a convolution takes no other), weights symmetric s8 in
/// [-127, 127] per output channel. An operator that moves values passes the scale of its input on.
/// So does Concat, whose operands may have different scales. Results need no pair: the plugin fuses
/// a following pair into the operator, and writes reals if there is none.
/// Source: OpenVINO documentation, "Low Precision IR (INT8 Inference)", "Quantized models compute
/// and restrictions", "OpenVINO Low Precision Transformations" and its page of
/// ConvolutionTransformation.
Target target_openvino() {
  Target target;
  target.name = "openvino";
  target.description = "OpenVINO on CPU and GPU: u8 activations, s8 weights per channel";
  target.activations = {DType::kUInt8, 8, Symmetry::kAsymmetric};
  target.weights = {DType::kInt8, 8, Symmetry::kSymmetric};
  target.weight_granularity = Granularity::kPerChannel;
  target.ops = ops_of(TargetBit::openvino);
  target.fused_activations = {"Relu", "Clip"};
  target.fusing_producers = {"Conv", "ConvTranspose", "Gemm", "MatMul", "Add"};
  target.conv_spatial_axes = {2, 3};
  target.concat_min_share = 0.5;
  return target;
}

}  // namespace qtool
