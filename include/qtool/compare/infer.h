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
  Requantization requantization = Requantization::kFloat;  ///< how integer sums are requantized
  AnswerOptions answers{};                                 ///< the answers to read from the outputs
  TensorLayout layout = TensorLayout::kNchw;               ///< layout of the input, for `answers`
  Progress progress{};                                     ///< counts timed runs; may be empty
};

struct ScoredClass {
  std::int64_t index = 0;
  float score = 0.0F;        ///< as the network computes it
  double probability = 0.0;  ///< softmax over classes; the score if it is a probability already
};

/// The results of one model for one input.
struct InferRun {
  std::vector<ScoredClass> top;  ///< best first; empty when the first output has no class scores
  bool answered = true;          ///< every output passes has_answer()
  double seconds = 0.0;          ///< median latency
  double fastest_seconds = 0.0;
  std::int64_t integer_steps = 0;
  std::int64_t steps = 0;
  Answer answer{};  ///< boxes: only those from the lowest threshold on
};

struct InferResult {
  int threads = 1;
  std::int64_t repeat = 1;
  std::int64_t classes = 0;  ///< number of classes of the scores or of the boxes
  Requantization requantization = Requantization::kFloat;
  bool detects = false;  ///< boxes were asked for
  InferRun fp32;
  std::optional<InferRun> int8;
  std::vector<OutputError> outputs;  ///< INT8 against FP32
  AnswerAgreement answers;           ///< INT8 against FP32
  std::vector<BoxPair> box_pairs;    ///< all FP32 boxes, then the other INT8 boxes; best first
};

/// Runs one sample through one or two models and compares outputs and latency. Two models take
/// turns. `inputs`: a tensor for each input of the network, in the order of the inputs. Throws as
/// evaluate() does. `progress` is asked after every run of both models.
InferResult infer(const Executor& fp32, const Executor* int8, std::span<const Tensor> inputs,
                  const InferOptions& options);

/// infer() for a network with one input.
inline InferResult infer(const Executor& fp32, const Executor* int8, const Tensor& input,
                         const InferOptions& options) {
  return infer(fp32, int8, {&input, 1}, options);
}

/// An element of a tensor in the FP32 network and in the whole INT8 model.
struct ValuePair {
  float fp32 = 0.0F;
  float int8 = 0.0F;
};

/// A tensor of the FP32 network, and its counterpart in the INT8 model.
struct TensorPair {
  std::string name;     ///< its name in the FP32 network
  std::string op_type;  ///< operator that computes it; empty for a network input
  Tensor fp32;
  std::string int8_name;           ///< its counterpart in the INT8 model; empty: there is none
  std::optional<Tensor> int8;      ///< in the units of `fp32`
  std::optional<Tensor> integers;  ///< as the INT8 model stores it
  Affines affines{{}, {}, -1};     ///< scales and zero points of `integers`
  double sqnr_db = 0.0;            ///< SQNR of `int8` against `fp32`
  double max_abs_error = 0.0;
};

struct TensorPairOptions {
  int threads = 0;  ///< threads inside operators; 0 = all available
  Requantization requantization = Requantization::kFloat;
  StopCheck stop{};
};

/// Reads tensors inside two networks while they run on one sample. FP32 tensors have the names of
/// the prepared network (see prepare()). Where the INT8 model rounds a tensor to integers with
/// constant scales, `integers` holds the integers that its plan computes, and `int8` their
/// dequantized values. For other tensors `int8` holds the values before rounding. A separate plan
/// computes them, without the fusions that would leave them out. So their last bits may differ from
/// the fused computation. Channels that a rewritten model divides by factors
/// (StaticOptions::rewrites) are multiplied by the factors again. A tensor that the model divides
/// in any other way has no counterpart. For a tensor in 16 bits (StaticOptions::wide), `int8` holds
/// the values before they are rounded to two bytes.
class TensorPairs {
 public:
  /// Selects the tensors whose names match `patterns` (`*`, `?`), for samples with the shapes of
  /// `sample`. `int8` may be null. Throws Error(kUsage) for a pattern that matches nothing; the
  /// message has similar names, or says into which tensor prepare() folded the tensor. Throws
  /// Error(kMismatch) when the models' inputs or outputs differ.
  TensorPairs(const Executor& fp32, const Executor* int8, std::span<const Tensor> sample,
              std::span<const std::string> patterns, const TensorPairOptions& options);

  [[nodiscard]] std::size_t size() const noexcept { return sources_.size(); }
  /// The bytes of all elements. This is about the memory that run() takes, and about the size of
  /// files with the tensors.
  [[nodiscard]] std::int64_t bytes() const;
  /// Runs both networks. The pairs are in the order of the FP32 network.
  [[nodiscard]] std::vector<TensorPair> run(std::span<const Tensor> sample) const;

 private:
  struct Source {
    std::string name;
    std::string op_type;
    std::string int8_name;           // counterpart; empty: none
    std::optional<Affines> affines;  // set when the counterpart holds integers
    std::size_t index = 0;           // index in the INT8 plan that observes the counterpart
    std::int64_t channel_axis = 1;
    std::vector<double> factors;  // the INT8 model divides the channels by them; empty: none
  };
  StopCheck stop_;
  std::vector<Source> sources_;
  std::shared_ptr<const Plan> fp32_;
  std::shared_ptr<const Plan> integers_;  // the INT8 model as it runs, or null
  std::shared_ptr<const Plan> floats_;    // the INT8 model with tensors before rounding, or null
};

}  // namespace qtool
