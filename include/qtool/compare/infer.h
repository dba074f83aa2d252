#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/answers/answer.h"
#include "qtool/base/progress.h"
#include "qtool/image/preprocess.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

class Executor;
class Plan;

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

/// An element of a tensor in the FP32 network and in the whole INT8 model.
struct ValuePair {
  float fp32 = 0.0F;
  float int8 = 0.0F;
};

/// A tensor of the FP32 network, and what stands for it in the INT8 model.
struct TensorPair {
  std::string name;     ///< in the FP32 network
  std::string op_type;  ///< that computes it; empty for an input of the network
  Tensor fp32;
  std::string int8_name;       ///< what was read in the INT8 model; empty: it has no such tensor
  std::optional<Tensor> int8;  ///< in the units of `fp32`
  std::optional<Tensor> integers;  ///< as the INT8 model stores it
  Affines affines{{}, {}, -1};     ///< of `integers`
  double sqnr_db = 0.0;            ///< of `int8` against `fp32`
  double max_abs_error = 0.0;
};

struct TensorPairOptions {
  int threads = 0;  ///< threads inside operators; 0 = all available
  Requantization requantization = Requantization::kFloat;
  StopCheck stop{};
};

/// Tensors inside two networks while they run on one sample.
/// FP32 tensors have the names that the prepared network has (see prepare()). Where the INT8 model
/// rounds a tensor to integers of constant scales, these are the integers that its plan computes,
/// and `int8` is what they stand for. Other tensors are those before rounding; a plan of its own
/// computes them, without the fusions that would leave them out, so their last bits may be other
/// ones than those of the fused computation.
/// Channels that a rewritten model divides by factors (StaticOptions::rewrites) are multiplied
/// again; tensors that it divides in any other way have no counterpart.
/// Of a tensor in 16 bits (StaticOptions::wide) `int8` is what is rounded to two bytes.
class TensorPairs {
 public:
  /// Tensors whose names equal or match `patterns` (`*`, `?`), for a sample of these shapes.
  /// `int8` may be null. Throws Error(kUsage) for a pattern that matches nothing, with near names
  /// and with what became of tensors that preparing folds away; Error(kMismatch) when the models'
  /// inputs or outputs differ.
  TensorPairs(const Executor& fp32, const Executor* int8, std::span<const Tensor> sample,
              std::span<const std::string> patterns, const TensorPairOptions& options);

  [[nodiscard]] std::size_t size() const noexcept { return sources_.size(); }
  /// Bytes of all elements, which is about what run() takes in memory and files of them on disk.
  [[nodiscard]] std::int64_t bytes() const;
  /// Runs both networks. The pairs are in the order of the FP32 network.
  [[nodiscard]] std::vector<TensorPair> run(std::span<const Tensor> sample) const;

 private:
  struct Source {
    std::string name;
    std::string op_type;
    std::string int8_name;           // empty: none
    std::optional<Affines> affines;  // of integers
    std::size_t index = 0;           // in the INT8 plan that observes it
    std::vector<double> factors;     // by which the INT8 model divides the channels; empty: none
  };
  StopCheck stop_;
  std::vector<Source> sources_;
  std::shared_ptr<const Plan> fp32_;
  std::shared_ptr<const Plan> integers_;  // INT8 as it runs, or null
  std::shared_ptr<const Plan> floats_;    // INT8 with tensors that are not rounded, or null
};

}  // namespace qtool
