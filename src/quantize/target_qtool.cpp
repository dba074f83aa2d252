#include "qtool/quantize/target.h"

namespace qtool {

Target target_cpu();
Target target_qtool();

/// This toolkit's executor alone. It runs what `cpu` lists, and weights with zero points too, which
/// ONNX Runtime refuses per channel; one more bit for weights on one side of 0 costs a sum over the
/// inputs of each window.
Target target_qtool() {
  Target target = target_cpu();
  target.name = "qtool";
  target.description = "qtool's own executor: as cpu, weights with zero points allowed";
  target.weight_symmetries = {Symmetry::kSymmetric, Symmetry::kAsymmetric};
  return target;
}

}  // namespace qtool
