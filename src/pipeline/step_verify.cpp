#include "pipeline/making.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"

namespace qtool {

bool wants_verify(const Recipe& recipe) { return recipe.min_sqnr_db.has_value(); }

/// Reads the emitted model as any user will read it, and compares it with FP32; see verify().
void step_verify(Making& making) {
  const StopCheck& stop = making.options.stop;
  const ModelFiles files =
      save_onnx_files(making.int8.value().graph, "emitted.data", DataPlace::kWhereNeeded);
  const Executor int8(prepare(load_onnx_files(files, "emitted", stop), stop), stop);
  EvalOptions options;
  options.preprocess = making.options.preprocess;
  options.bad_images = making.options.bad_images;
  options.threads = making.options.threads;
  options.progress = making.collect().progress;
  making.verified =
      verify(*making.fp32, int8, *making.samples, options, making.recipe.min_sqnr_db.value());
}

}  // namespace qtool
