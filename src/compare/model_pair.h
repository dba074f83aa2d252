#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compare/metrics.h"
#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The FP32 plan of a comparison and, optionally, the INT8 plan. Both have equal ports.
struct ModelPair {
  std::shared_ptr<const Plan> fp32;
  std::shared_ptr<const Plan> int8;  ///< null without a second model

  [[nodiscard]] std::int64_t models() const { return int8 == nullptr ? 1 : 2; }
  [[nodiscard]] const Plan& plan(std::int64_t model) const { return model == 0 ? *fp32 : *int8; }
};

/// Compiles both models for inputs of `shapes`, in the order of the inputs. Throws Error(kMismatch)
/// when there are more or fewer shapes than inputs, or when the ports of the models differ: the
/// names of the inputs (if there are several), or the number or the shapes of the outputs.
ModelPair compile_pair(const Executor& fp32, const Executor* int8, std::span<const Shape> shapes,
                       int threads, Requantization requantization = Requantization::kFloat);

/// Throws Error(kUnsupported) when an output does not begin with the batch. A batch of 1 needs
/// none.
void require_batched_outputs(const Plan& plan, std::int64_t batch);

/// The shapes of a plan's inputs by their names.
InputShapes input_shapes(const Plan& plan);

/// The number of samples in a run with these inputs: the first extent of the first input, or 1.
std::int64_t batch_of(std::span<const Shape> inputs);

/// The shape of `batch` samples of shape `sample`. Throws Error(kUnsupported) unless the first
/// extent is 1.
Shape batch_shape(const Shape& sample, std::int64_t batch);

/// The shapes of a sample's tensors.
std::vector<Shape> shapes_of(std::span<const Tensor> sample);

/// Throws Error(kUsage) when a measurement is repeated less than once.
void check_repeat(std::int64_t repeat);

/// Throws Error(kMismatch), which names the file, when `tensor` of sample `item` does not have the
/// shape `expected`.
void require_shape(const Samples& samples, std::int64_t item, const Tensor& tensor,
                   const Shape& expected);

/// Calls require_shape() for all tensors of a sample. The expected shapes are the input shapes of
/// `plan`, which was made for the first sample.
void require_shapes(const Samples& samples, std::int64_t item, std::span<const Tensor> sample,
                    const Plan& plan);

/// The outputs of a run as floats; numbers of other types are converted. The views must outlive the
/// object.
class FloatOutputs {
 public:
  explicit FloatOutputs(std::span<const TensorView> outputs);
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] std::span<const float> operator[](std::size_t i) const { return values_.at(i); }
  /// The elements of output `i` that belong to sample `slot` of `batch`.
  [[nodiscard]] std::span<const float> part(std::size_t i, std::int64_t slot,
                                            std::int64_t batch) const;

 private:
  std::vector<Tensor> converted_;
  std::vector<std::span<const float>> values_;
};

/// Whether all outputs have an answer for sample `slot`, see has_answer().
bool all_answered(const FloatOutputs& outputs, std::int64_t slot = 0, std::int64_t batch = 1);

/// The distance of one output from the reference, and the sums behind its SQNR.
struct ComparedOutput {
  OutputError error;
  SqnrSums sums;
};
/// `psnr_peak`: see AnswerOptions.
ComparedOutput compare_output(std::span<const float> reference,
                              std::span<const float> approximation,
                              std::optional<double> psnr_peak = {});

}  // namespace qtool
