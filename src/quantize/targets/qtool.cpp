#include "qtool/quantize/target.h"
#include "quantize/targets/ops_by_target.h"

namespace qtool {

Target target_cpu();
Target target_qtool();

/// qtool's executor alone. It runs everything that `cpu` lists, and also weights with zero points,
/// which ONNX Runtime refuses per channel. Weights of one sign gain one bit of resolution by a zero
/// point; the price is a sum over the inputs of each window.
/// Its products are exact on every processor, so weights may stand beside each other in any pair.
/// Several nodes that together compute a function of one element run as one table. Behind a
/// convolution, they run inside it, before it rounds.
/// Its convolutions add a shortcut to their sums before they round, and write reals where only FP32
/// nodes read them. ONNX Runtime would run such a convolution in FP32, because its result has no
/// pair.
/// The operators of its own rows in ops_by_target.inc are missing from `cpu`, because ONNX Runtime
/// computes them in FP32 between their pairs. That would cost time and precision and gain nothing.
/// `cpu` does not interpolate, because a linear Resize of ONNX Runtime on bytes truncates instead
/// of rounding.
Target target_qtool() {
  Target target = target_cpu();
  target.name = "qtool";
  target.description =
      "qtool's own executor: more operators than cpu, sums added before they are rounded, "
      "functions such as SiLU inside a convolution or as one table; weights with zero points "
      "allowed";
  target.ops = ops_of(TargetBit::cpu | TargetBit::qtool);
  target.fusing_producers.emplace_back("ConvTranspose");
  target.fusing_producers.emplace_back("Sub");
  target.integer_result_ops = {};
  target.residual_producers = {"Conv"};
  target.adds_pairs_in_16_bits = false;
  target.fuses_functions = true;
  target.function_producers = {"Conv"};
  target.wide_activations = true;
  target.interpolates = true;
  target.weight_symmetries = {Symmetry::kSymmetric, Symmetry::kAsymmetric};
  return target;
}

}  // namespace qtool
