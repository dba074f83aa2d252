#include "quantize/rewrites/scaled_channels.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "json/json.h"
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

const std::vector<double>* ScaledChannels::find(std::string_view tensor) const {
  const auto found = factors.find(tensor);
  return found == factors.end() ? nullptr : &found->second;
}

std::string to_json_text(const ScaledChannels& scaled) {
  // Tensors that follow each other mostly have the same factors, so the text lists these once.
  std::map<std::vector<double>, std::vector<std::string>> tensors_of;
  for (const auto& [tensor, factors] : scaled.factors) tensors_of[factors].push_back(tensor);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [factors, tensors] : tensors_of) {
    std::string letters;
    for (const double factor : factors) letters.push_back(letter_of(factor));
    json.push_back({{"tensors", tensors}, {"factors", std::move(letters)}});
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
    row.require_object({"tensors", "factors"});
    std::vector<double> factors;
    const JsonField letters = row.at("factors");
    for (const char letter : letters.as_string()) {
      const std::int64_t step = letter - kNoStep;
      if (step < kFirstFactorStep || step > kLastFactorStep) {
        letters.fail("one character from ! to z for each channel");
      }
      factors.push_back(factor_of_step(step));
    }
    for (const JsonField& tensor : row.at("tensors").elements()) {
      scaled.factors.insert_or_assign(tensor.as_string(), factors);
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

void scale_channels(const TensorView& tensor, std::string_view name,
                    std::span<const double> factors, float* values) {
  const Shape& shape = tensor.shape;
  if (shape.rank() < 2 || shape[1] != std::ssize(factors)) {
    throw Error(ErrorCode::kMismatch, to_text("tensor '", name, "' has shape ", shape.to_string(),
                                              ", the INT8 model scales ", factors.size(),
                                              " channels of it; do they belong together?"));
  }
  const std::size_t channels = factors.size();
  const auto elements = static_cast<std::size_t>(shape.elements());
  if (elements == 0) return;
  const std::size_t inner = tensor.layout == Layout::kChannelsLast
                                ? 1
                                : elements / static_cast<std::size_t>(shape[0]) / channels;
  for (std::size_t i = 0; i < elements; ++i) {
    values[i] = static_cast<float>(values[i] * factors[i / inner % channels]);
  }
}

}  // namespace qtool
