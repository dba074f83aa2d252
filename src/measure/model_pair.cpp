#include "measure/model_pair.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "measure/metrics.h"
#include "qtool/base/error.h"
#include "qtool/exec/prepare.h"

namespace qtool {
namespace {

void require_float(const PortInfo& port, std::string_view kind) {
  if (port.dtype == DType::kFloat32) return;
  throw Error(ErrorCode::kUnsupported,
              concat(kind, " '", port.name, "' is ", name_of(port.dtype), ", expected float32"));
}

void require_equal_outputs(const Plan& fp32, const Plan& int8) {
  const auto& a = fp32.outputs();
  const auto& b = int8.outputs();
  if (a.size() != b.size()) {
    throw Error(ErrorCode::kMismatch,
                concat("the FP32 model has ", a.size(), " outputs, the INT8 model ", b.size(),
                       "; do they belong together?"));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape == b[i].shape) continue;
    throw Error(ErrorCode::kMismatch,
                concat("output '", a[i].name, "' of the FP32 model has shape ",
                       a[i].shape.to_string(), ", output '", b[i].name, "' of the INT8 model ",
                       b[i].shape.to_string(), "; do they belong together?"));
  }
}

std::shared_ptr<const Plan> compile(const Executor& executor, const Shape& shape, int threads,
                                    Requantization requantization) {
  CompileOptions options;
  options.threads = threads;
  options.requantization = requantization;
  const Value& input = image_input(executor.graph());
  auto plan = executor.compile({{input.name, shape}}, options);
  require_float(plan->inputs().front(), "input");
  for (const PortInfo& port : plan->outputs()) require_float(port, "output");
  return plan;
}

}  // namespace

ModelPair compile_pair(const Executor& fp32, const Executor* int8, const Shape& shape, int threads,
                       Requantization requantization) {
  ModelPair pair;
  pair.fp32 = compile(fp32, shape, threads, requantization);
  if (int8 != nullptr) {
    pair.int8 = compile(*int8, shape, threads, requantization);
    require_equal_outputs(*pair.fp32, *pair.int8);
  }
  return pair;
}

void require_image_shape(const Tensor& image, const ImageEntry& entry, const Shape& input) {
  std::vector<std::int64_t> expected = input.dims();
  if (!expected.empty()) expected.front() = 1;
  if (image.shape().dims() == expected) return;
  throw Error(ErrorCode::kMismatch,
              concat("image '", entry.path.string(), "' becomes ", image.shape().to_string(),
                     ", the network runs on ", Shape(expected).to_string(),
                     "; a resize brings all images to one size"));
}

void check_repeat(std::int64_t repeat) {
  if (repeat >= 1) return;
  throw Error(ErrorCode::kUsage, concat("repeat: found ", repeat, ", expected 1 or more"));
}

std::int64_t class_count(const Shape& output, std::int64_t batch) {
  if (output.rank() < 2 || output[0] != batch) return 0;
  const std::int64_t per_image = output.elements() / batch;
  const auto& dims = output.dims();
  return std::find(dims.begin() + 1, dims.end(), per_image) == dims.end() ? 0 : per_image;
}

std::span<const float> image_part(const TensorView& view, std::int64_t slot, std::int64_t batch) {
  const std::span<const float> all = view.values<float>();
  const std::size_t size = all.size() / static_cast<std::size_t>(batch);
  return all.subspan(static_cast<std::size_t>(slot) * size, size);
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
