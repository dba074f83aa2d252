#include "samples/network_inputs.h"

#include <string>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::size_t kImageRank = 4;

}  // namespace

void require_inputs_for(const Samples& samples, const Graph& graph) {
  const std::vector<InputSpec> inputs = input_specs(graph);
  if (!samples.are_images()) {
    if (samples.inputs() == inputs.size()) return;
    throw Error(ErrorCode::kUnsupported, to_text("the samples are for ", samples.inputs(),
                                                 " inputs, the model has ", inputs.size()));
  }
  if (inputs.size() != 1) {
    throw Error(ErrorCode::kUnsupported, to_text("calibration: the model has ", inputs.size(),
                                                 " inputs, expected one image input"));
  }
  const InputSpec& input = inputs.front();
  const auto refuse = [&](const std::string& found) {
    throw Error(ErrorCode::kUnsupported, to_text("calibration: input '", input.name, "' ", found));
  };
  if (input.dtype != DType::kFloat32) {
    refuse(to_text("is ", name_of(input.dtype), ", expected float32"));
  }
  if (!input.extents) return;
  if (input.extents->size() != kImageRank) {
    refuse(to_text("has rank ", input.extents->size(), ", expected an image of rank 4"));
  }
  if (input.extents->front().value_or(1) != 1) {
    refuse(to_text("has the fixed batch ", *input.extents->front(),
                   ", expected 1 or a symbol: images run one at a time"));
  }
}

InputShapes named_shapes(const Graph& graph, std::span<const Shape> shapes) {
  InputShapes named;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    named.emplace(graph.value(graph.inputs()[i]).name, shapes[i]);
  }
  return named;
}

InputShapes shapes_for(const Samples& samples, const Graph& graph, std::span<const Tensor> sample) {
  const std::vector<InputSpec> inputs = input_specs(graph);
  InputShapes shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    InputSpec spec = inputs[i];
    const Shape& shape = sample[i].shape();
    if (samples.are_images() && spec.extents && !spec.extents->empty()) spec.extents->front() = 1;
    if (!accepts(spec, shape.dims())) {
      throw Error(ErrorCode::kMismatch,
                  to_text(samples.are_images() ? "the preprocessing makes " : "the sample has ",
                          shape.to_string(), ", but input '", spec.name, "' of the model takes ",
                          shape_text(spec)));
    }
    shapes.emplace(spec.name, shape);
  }
  return shapes;
}

std::vector<InputShapes> extreme_shapes(const Samples& samples, const Graph& graph) {
  if (samples.are_images()) return {};
  const auto elements = [&](std::int64_t i) {
    std::int64_t sum = 0;
    for (const Shape& shape : samples.shapes(i)) sum += shape.elements();
    return sum;
  };
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
  for (std::int64_t i = 1; i < samples.size(); ++i) {
    if (elements(i) < elements(smallest)) smallest = i;
    if (elements(i) > elements(largest)) largest = i;
  }
  if (smallest == largest) return {};
  return {named_shapes(graph, samples.shapes(smallest)),
          named_shapes(graph, samples.shapes(largest))};
}

std::optional<std::vector<Tensor>> first_usable(const Samples& samples,
                                                const Preprocess& preprocess, BadImages policy,
                                                std::vector<BadImage>& bad) {
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    std::optional<std::vector<Tensor>> sample = samples.load(i, preprocess, policy, bad);
    if (sample) return sample;
  }
  return std::nullopt;
}

std::vector<TensorView> views_of(std::span<const Tensor> sample) {
  return {sample.begin(), sample.end()};
}

bool accepts(const Graph& graph, std::span<const Tensor> sample) {
  const std::vector<InputSpec> specs = input_specs(graph);
  if (specs.size() != sample.size()) return false;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (!accepts(specs[i], sample[i].shape().dims())) return false;
  }
  return true;
}

}  // namespace qtool
