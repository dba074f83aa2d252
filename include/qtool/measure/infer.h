#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/measure/answer.h"
#include "qtool/measure/output_error.h"
#include "qtool/quant/requantize.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

struct InferOptions {
  int threads = 0;           ///< threads inside operators; 0 = all available
  std::int64_t top = 5;      ///< classes to list
  std::int64_t repeat = 20;  ///< timed runs of each model, after one that is not timed
  Requantization requantization = Requantization::kFloat;  ///< of integer sums
  AnswerOptions answers{};                                 ///< what to read from the outputs
  TensorLayout layout = TensorLayout::kNchw;               ///< of the input, for `answers`
  Progress progress{};                                     ///< counts timed runs; may be empty
};

struct ScoredClass {
  std::int64_t index = 0;
  float score = 0.0F;        ///< as the network says
  double probability = 0.0;  ///< softmax over the classes; the score itself if it already is one
};

/// What one model answered to one input.
struct InferRun {
  std::vector<ScoredClass> top;  ///< best first; empty when the first output has no class scores
  bool answered = true;          ///< every output passes has_answer()
  double seconds = 0.0;          ///< median latency
  double fastest_seconds = 0.0;
  std::int64_t integer_steps = 0;
  std::int64_t steps = 0;
  Answer answer{};  ///< boxes from the detector's first threshold on
};

struct InferResult {
  int threads = 1;
  std::int64_t repeat = 1;
  std::int64_t classes = 0;  ///< of the scores, or of the boxes
  Requantization requantization = Requantization::kFloat;
  bool detects = false;  ///< boxes were asked for
  InferRun fp32;
  std::optional<InferRun> int8;
  std::vector<OutputError> outputs;  ///< INT8 against FP32
  AnswerAgreement answers;           ///< INT8 against FP32
  std::vector<BoxPair> box_pairs;    ///< of both models, FP32's boxes first, best first
};

/// Runs one sample through one or two models, alternately, and compares outputs and latency.
/// `inputs`: a tensor for each input of the network, in their order. Throws as evaluate();
/// `progress` is asked after every run of both models.
InferResult infer(const Executor& fp32, const Executor* int8, std::span<const Tensor> inputs,
                  const InferOptions& options);

/// The same for a network with one input.
inline InferResult infer(const Executor& fp32, const Executor* int8, const Tensor& input,
                         const InferOptions& options) {
  return infer(fp32, int8, {&input, 1}, options);
}

}  // namespace qtool
