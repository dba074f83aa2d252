#include "qtool/quantize/target.h"

namespace qtool {

Target target_cpu();
Target target_qtool();

/// qtool's executor alone. It runs everything that `cpu` lists, and also weights with zero points,
/// which ONNX Runtime refuses per channel. Weights of one sign gain one bit of resolution by a zero
/// point; the price is a sum over the inputs of each window.
/// Functions of one element that are spelled out in several nodes run as one table.
/// Its convolutions add a shortcut to their sums before they round, where ONNX Runtime runs a
/// convolution in FP32 whose result has no pair.
/// ConvTranspose is not in `cpu`: ONNX Runtime computes it in FP32 between its pairs, so that they
/// would cost time and precision there and gain nothing.
Target target_qtool() {
  Target target = target_cpu();
  target.name = "qtool";
  target.description =
      "qtool's own executor: as cpu, and ConvTranspose, sums added before they are rounded, "
      "functions such as SiLU as one table; weights with zero points allowed";
  target.ops.emplace_back("ConvTranspose");
  target.fusing_producers.emplace_back("ConvTranspose");
  target.residual_producers = {"Conv"};
  target.fuses_functions = true;
  target.wide_activations = true;
  target.weight_symmetries = {Symmetry::kSymmetric, Symmetry::kAsymmetric};
  return target;
}

}  // namespace qtool
