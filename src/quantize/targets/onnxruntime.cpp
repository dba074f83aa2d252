#include "qtool/quantize/target.h"

namespace qtool {

Target target_cpu();
Target target_onnxruntime();

/// ONNX Runtime's CPU provider, by its own name. It has the rules of `cpu`, which qtool's executor
/// follows too.
Target target_onnxruntime() {
  Target target = target_cpu();
  target.name = "onnxruntime";
  target.description = "ONNX Runtime on CPUs, the same as cpu: u8 activations, s8 weights";
  return target;
}

}  // namespace qtool
