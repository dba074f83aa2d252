#include "compare/detector_check.h"

#include "answers/answer.h"
#include "compare/model_pair.h"
#include "samples/network_inputs.h"

namespace qtool {

void require_fitting_detector(const AnswerOptions& options, const Executor& fp32,
                              std::span<const Tensor> sample, TensorLayout layout) {
  if (!options.boxes) return;
  const ModelPair pair = compile_pair(fp32, nullptr, shapes_of(sample), 1);
  Workspace workspace;
  const AnswerReader reader(options, *pair.fp32, layout);
  reader.require_fit(pair.fp32->run(views_of(sample), workspace));
}

}  // namespace qtool
