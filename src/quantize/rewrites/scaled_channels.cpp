#include "quantize/rewrites/scaled_channels.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/rank.h"
#include "json/json.h"
#include "ops/strides.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"
#include "quantize/rewrites/channel_noise.h"
#include "quantize/weights/weight_layout.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;

// The character for the factor 1. The following characters stand for smaller factors.
constexpr char kNoStep = 'A';
static_assert('A' + kFirstFactorStep >= '!' && 'A' + kLastFactorStep <= '~');

char letter_of(double factor) {
  const auto step = static_cast<std::int64_t>(std::lround(-4.0 * std::log2(factor)));
  if (step >= kFirstFactorStep && step <= kLastFactorStep && factor_of_step(step) == factor) {
    return static_cast<char>(kNoStep + step);
  }
  throw Error(ErrorCode::kInvalidArgument,
              to_text("found the factor ", factor, ", expected one that equalization tries"));
}

double at(std::span<const double> factors, std::int64_t channel) {
  return channel < std::ssize(factors) ? factors[static_cast<std::size_t>(channel)] : 1.0;
}

}  // namespace

const ChannelScaling* ScaledChannels::find(std::string_view tensor) const {
  const auto found = tensors.find(tensor);
  return found == tensors.end() ? nullptr : &found->second;
}

std::string to_json_text(const ScaledChannels& scaled) {
  // Tensors that follow each other mostly have the same factors, so the text lists these once.
  std::map<ChannelScaling, std::vector<std::string>> tensors_of;
  for (const auto& [tensor, scaling] : scaled.tensors) tensors_of[scaling].push_back(tensor);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [scaling, tensors] : tensors_of) {
    std::string letters;
    for (const double factor : scaling.factors) letters.push_back(letter_of(factor));
    nlohmann::ordered_json row{{"tensors", tensors}, {"factors", std::move(letters)}};
    if (scaling.axis != 1) row["axis"] = scaling.axis;
    json.push_back(std::move(row));
  }
  return json.dump();
}

ScaledChannels scaled_channels_of(const Graph& int8) {
  const auto& metadata = int8.info.metadata;
  const auto rewrites = metadata.find(std::string(kRewritesKey));
  if (rewrites == metadata.end() || rewrites->second.empty()) return {};
  const auto text = metadata.find(std::string(kScaledChannelsKey));
  if (text == metadata.end()) {
    throw Error(
        ErrorCode::kUnsupported,
        to_text("the INT8 model was rewritten before it was quantized (", rewrites->second,
                ") and does not say how, so that its tensors and weights cannot be compared "
                "one by one; quantize it again"));
  }
  const nlohmann::json parsed =
      parse_json(text->second, kMaxBytes, to_text("metadata '", kScaledChannelsKey, "'"),
                 ErrorCode::kInvalidModel);
  const JsonField field(parsed, to_text("metadata '", kScaledChannelsKey, "'"),
                        ErrorCode::kInvalidModel);
  ScaledChannels scaled;
  for (const JsonField& row : field.elements()) {
    row.require_object({"tensors", "factors", "axis"});
    ChannelScaling scaling;
    if (const auto axis = row.find("axis")) scaling.axis = axis->as_int(1, kMaxRank - 1);
    const JsonField letters = row.at("factors");
    for (const char letter : letters.as_string()) {
      const std::int64_t step = letter - kNoStep;
      if (step < kFirstFactorStep || step > kLastFactorStep) {
        letters.fail("one character from ! to z for each channel");
      }
      scaling.factors.push_back(factor_of_step(step));
    }
    for (const JsonField& tensor : row.at("tensors").elements()) {
      scaled.tensors.insert_or_assign(tensor.as_string(), scaling);
    }
  }
  return scaled;
}

void scale_weights(const Graph& graph, NodeId node, const WeightPorts& ports,
                   std::span<const double> in, std::span<const double> out, Tensor& weights) {
  const WeightLayout layout = layout_of(graph, node, ports, weights.shape());
  const auto w = weights.values<float>();
  for (std::int64_t o = 0; o < ports.channels; ++o) {
    for (std::int64_t i = 0; i < layout.inputs; ++i) {
      const double by = at(in, layout.input_channel(o, i)) / at(out, o);
      const std::int64_t begin = layout.first(o, i);
      for (std::int64_t tap = 0; tap < layout.taps; ++tap) {
        float& value = w[static_cast<std::size_t>(begin + tap)];
        value = static_cast<float>(value * by);
      }
    }
  }
}

void divide_channels(Observed& observed, std::span<const double> factors) {
  for (std::vector<float>* values :
       {&observed.channel_means, &observed.channel_mins, &observed.channel_maxs}) {
    for (std::size_t c = 0; c < values->size(); ++c) {
      (*values)[c] = static_cast<float>((*values)[c] * (1.0 / factors[c]));
    }
  }
}

void forget_channels(Observed& observed) {
  observed.channel_means.clear();
  observed.channel_mins.clear();
  observed.channel_maxs.clear();
}

void scale_channels(const TensorView& tensor, std::string_view name, const ChannelScaling& scaling,
                    float* values) {
  const auto& [axis, factors] = scaling;
  const Shape& shape = tensor.shape;
  if (shape.rank() <= axis || shape[axis] != std::ssize(factors)) {
    throw Error(
        ErrorCode::kMismatch,
        to_text("tensor '", name, "' has shape ", shape.to_string(), ", the INT8 model scales ",
                factors.size(), " channels along axis ", axis, "; do they belong together?"));
  }
  const auto elements = static_cast<std::size_t>(shape.elements());
  if (elements == 0) return;
  const auto stride = static_cast<std::size_t>(stride_of(shape, tensor.layout, axis));
  for (std::size_t i = 0; i < elements; ++i) {
    values[i] = static_cast<float>(values[i] * factors[i / stride % factors.size()]);
  }
}

}  // namespace qtool
