#pragma once

#include <span>

#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Runs FP32 on one sample and checks that the detector of `options` fits its outputs, see
/// require_fit(). Does nothing if there is no detector. `sample`: one tensor for each input. Throws
/// as BoxDecoder, require_fit() and compile_pair() do. Cost: one run.
void require_fitting_detector(const AnswerOptions& options, const Executor& fp32,
                              std::span<const Tensor> sample, TensorLayout layout);

}  // namespace qtool
