#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "measure/metrics.h"
#include "qtool/exec/executor.h"
#include "qtool/image/image_set.h"
#include "qtool/measure/output_error.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The FP32 plan and, perhaps, the INT8 plan of one comparison, with equal ports.
struct ModelPair {
  std::shared_ptr<const Plan> fp32;
  std::shared_ptr<const Plan> int8;  ///< null without a second model

  [[nodiscard]] std::int64_t models() const { return int8 == nullptr ? 1 : 2; }
  [[nodiscard]] const Plan& plan(std::int64_t model) const { return model == 0 ? *fp32 : *int8; }
};

/// Compiles both models for an input of `shape`. Throws Error(kMismatch) when the second model's
/// ports differ from the first one's in name order, shape, or are not float32.
ModelPair compile_pair(const Executor& fp32, const Executor* int8, const Shape& shape, int threads,
                       Requantization requantization = Requantization::kFloat);

/// Throws Error(kUsage) unless a measurement is repeated 1 or more times.
void check_repeat(std::int64_t repeat);

/// Every preprocessed image must have the size of the first one, for which the plan with this input
/// was made; batches have more in front. Throws Error(kMismatch) naming the file.
void require_image_shape(const Tensor& image, const ImageEntry& entry, const Shape& input);

/// Scores per class in an output of `batch` images: its elements per image when all extents but
/// the first and one other are 1; 0 otherwise.
std::int64_t class_count(const Shape& output, std::int64_t batch);

/// The elements of `view` that belong to image `slot` of `batch`.
std::span<const float> image_part(const TensorView& view, std::int64_t slot, std::int64_t batch);

/// Distance of one output from the reference, and the sums behind its SQNR.
struct ComparedOutput {
  OutputError error;
  SqnrSums sums;
};
/// `psnr_peak`: see AnswerOptions.
ComparedOutput compare_output(std::span<const float> reference,
                              std::span<const float> approximation,
                              std::optional<double> psnr_peak = {});

}  // namespace qtool
