#include "compare/model_pair.h"

#include <algorithm>
#include <string>

#include "answers/answer.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

void require_equal_outputs(const Plan& fp32, const Plan& int8) {
  const auto& a = fp32.outputs();
  const auto& b = int8.outputs();
  if (a.size() != b.size()) {
    throw Error(ErrorCode::kMismatch,
                to_text("the FP32 model has ", a.size(), " outputs, the INT8 model ", b.size(),
                        "; do they belong together?"));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape == b[i].shape) continue;
    throw Error(ErrorCode::kMismatch,
                to_text("output '", a[i].name, "' of the FP32 model has shape ",
                        a[i].shape.to_string(), ", output '", b[i].name, "' of the INT8 model ",
                        b[i].shape.to_string(), "; do they belong together?"));
  }
}

// If there is only one input, its name may differ between the models.
void require_equal_inputs(const Plan& fp32, const Plan& int8) {
  for (std::size_t i = 0; fp32.inputs().size() > 1 && i < fp32.inputs().size(); ++i) {
    if (fp32.inputs()[i].name == int8.inputs()[i].name) continue;
    throw Error(
        ErrorCode::kMismatch,
        to_text("input ", i, " of the FP32 model is '", fp32.inputs()[i].name,
                "', of the INT8 model '", int8.inputs()[i].name, "'; do they belong together?"));
  }
}

std::shared_ptr<const Plan> compile(const Executor& executor, std::span<const Shape> shapes,
                                    int threads, Requantization requantization) {
  CompileOptions options;
  options.threads = threads;
  options.requantization = requantization;
  const Graph& graph = executor.graph();
  if (shapes.size() == 1) static_cast<void>(image_input(graph));
  if (shapes.empty() || shapes.size() != graph.inputs().size()) {
    throw Error(ErrorCode::kMismatch, to_text("the model has ", graph.inputs().size(),
                                              " inputs, found tensors for ", shapes.size()));
  }
  return executor.compile(named_shapes(graph, shapes), options);
}

}  // namespace

ModelPair compile_pair(const Executor& fp32, const Executor* int8, std::span<const Shape> shapes,
                       int threads, Requantization requantization) {
  ModelPair pair;
  pair.fp32 = compile(fp32, shapes, threads, requantization);
  if (int8 != nullptr) {
    pair.int8 = compile(*int8, shapes, threads, requantization);
    require_equal_inputs(*pair.fp32, *pair.int8);
    require_equal_outputs(*pair.fp32, *pair.int8);
  }
  return pair;
}

void require_batched_outputs(const Plan& plan, std::int64_t batch) {
  for (const PortInfo& port : plan.outputs()) {
    if (batch == 1 || (port.shape.rank() > 0 && port.shape[0] == batch)) continue;
    throw Error(ErrorCode::kUnsupported,
                to_text("output '", port.name, "' has shape ", port.shape.to_string(),
                        ", expected the batch of ", batch, " in front; use batch 1"));
  }
}

InputShapes input_shapes(const Plan& plan) {
  InputShapes shapes;
  for (const PortInfo& input : plan.inputs()) shapes.emplace(input.name, input.shape);
  return shapes;
}

std::int64_t batch_of(std::span<const Shape> inputs) {
  if (inputs.empty() || inputs.front().rank() == 0) return 1;
  return std::max<std::int64_t>(inputs.front()[0], 1);
}

Shape batch_shape(const Shape& sample, std::int64_t batch) {
  if (sample.rank() == 0 || sample[0] != 1) {
    throw Error(ErrorCode::kUnsupported,
                to_text("a sample has an input of shape ", sample.to_string(),
                        ", expected 1 in front to run ", batch, " at once; use batch 1"));
  }
  std::vector<std::int64_t> dims = sample.dims();
  dims.front() = batch;
  return Shape(std::move(dims));
}

std::vector<Shape> shapes_of(std::span<const Tensor> sample) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : sample) shapes.push_back(tensor.shape());
  return shapes;
}

void require_shapes(const Samples& samples, std::int64_t item, std::span<const Tensor> sample,
                    const Plan& plan) {
  for (std::size_t i = 0; i < sample.size(); ++i) {
    require_shape(samples, item, sample[i], plan.inputs()[i].shape);
  }
}

void require_shape(const Samples& samples, std::int64_t item, const Tensor& tensor,
                   const Shape& expected) {
  if (tensor.shape() == expected) return;
  const bool image = samples.are_images();
  throw Error(
      ErrorCode::kMismatch,
      to_text(samples.noun(), " '", samples.path(item).string(), image ? "' becomes " : "' has ",
              tensor.shape().to_string(), ", the network runs on ", expected.to_string(),
              image ? "; a resize brings all images to one size"
                    : "; samples of one shape are needed here"));
}

void check_repeat(std::int64_t repeat) {
  if (repeat >= 1) return;
  throw Error(ErrorCode::kUsage, to_text("repeat: found ", repeat, ", expected 1 or more"));
}

FloatOutputs::FloatOutputs(std::span<const TensorView> outputs) {
  converted_.reserve(outputs.size());
  for (const TensorView& output : outputs) {
    if (output.dtype == DType::kFloat32) {
      values_.push_back(output.values<float>());
      continue;
    }
    converted_.push_back(to_float32(to_tensor(output)));
    values_.push_back(converted_.back().values<float>());
  }
}

bool all_answered(const FloatOutputs& outputs, std::int64_t slot, std::int64_t batch) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!has_answer(outputs.part(i, slot, batch))) return false;
  }
  return true;
}

std::span<const float> FloatOutputs::part(std::size_t i, std::int64_t slot,
                                          std::int64_t batch) const {
  return sample_part(values_.at(i), slot, batch);
}

ComparedOutput compare_output(std::span<const float> reference,
                              std::span<const float> approximation,
                              std::optional<double> psnr_peak) {
  ComparedOutput compared;
  compared.sums = sqnr_sums(reference, approximation);
  OutputError& error = compared.error;
  error.cosine = cosine(reference, approximation);
  error.sqnr_db = error.pooled_sqnr_db = error.lowest_sqnr_db = compared.sums.decibels();
  if (psnr_peak) error.psnr_db = psnr_db(compared.sums, std::ssize(reference), *psnr_peak);
  error.max_abs_error = max_abs_error(reference, approximation);
  return compared;
}

}  // namespace qtool
