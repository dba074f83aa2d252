// Reads the inputs of quantize() from an INT8 model.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "compare/quantized_parts.h"
#include "graph/node_name.h"
#include "qtool/analyze/analyze.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "quantize/groundwork.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

constexpr int kByteBits = 8;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::kUnsupported,
              to_text("the INT8 model cannot be made again from what it says: ", what));
}

// The number of bits in use. For a type of fewer than 8 bits, a Clip before the QuantizeLinear
// keeps the integers within the limits.
int bits_of(const QuantizedActivation& activation) {
  const Range range = represented_range(activation.affine, activation.limits);
  const float top = std::clamp(activation.high, range.min, range.max);
  const auto highest = static_cast<std::int32_t>(std::lround(top / activation.affine.scale)) +
                       activation.affine.zero_point;
  const bool is_signed = activation.limits.min < 0;
  int bits = 2;
  while (bits < kByteBits && highest >= (1 << (is_signed ? bits - 1 : bits))) ++bits;
  return bits;
}

void add_activations(const std::vector<QuantizedActivation>& activations, CalibrationTable& table) {
  if (activations.empty()) refuse("it has no activations with stored scales");
  Scheme scheme;
  scheme.bits = 2;
  scheme.dtype = activations.front().limits.min < 0 ? DType::kInt8 : DType::kUInt8;
  const std::int32_t middle = scheme.dtype == DType::kInt8 ? 0 : 128;
  bool symmetric = true;
  for (const QuantizedActivation& activation : activations) {
    if (activation.limits.max - activation.limits.min > 255) {
      refuse(to_text("activation '", activation.tensor, "' has 16 bits, expected 8"));
    }
    if ((activation.limits.min < 0) != (scheme.dtype == DType::kInt8)) {
      refuse("it has signed and unsigned activations, expected one type");
    }
    if (!std::isnormal(activation.affine.scale) || activation.affine.scale < 0.0F ||
        !std::isfinite(256.0F * activation.affine.scale)) {
      refuse(to_text("activation '", activation.tensor, "' has scale ", activation.affine.scale));
    }
    ActivationEntry entry;
    entry.tensor = activation.tensor;
    entry.affine = activation.affine;
    entry.dtype = scheme.dtype;
    const Range range = range_of(activation);
    entry.range = {std::min(range.min, 0.0F), std::max(range.max, 0.0F)};
    scheme.bits = std::max(scheme.bits, bits_of(activation));
    symmetric = symmetric && activation.affine.zero_point == middle;
    table.activations.push_back(std::move(entry));
  }
  scheme.symmetry = symmetric ? Symmetry::kSymmetric : Symmetry::kAsymmetric;
  table.types.activation_dtype = scheme.dtype;
  table.types.activation_symmetry = scheme.symmetry;
  if (scheme.bits < kByteBits) table.types.activation_bits = scheme.bits;
  table.method_options.scheme = scheme;
}

/// The node that makes reals of stored integers, where it writes `id`; null otherwise.
const Node* dequantization_of(const Graph& int8, ValueId id) {
  const NodeId producer = int8.value(id).producer;
  if (producer == kNoNode || !int8.node(producer).is("DequantizeLinear")) return nullptr;
  return &int8.node(producer);
}

/// The scales and zero points of a DequantizeLinear of constant integers; nullopt where `id` is
/// something else.
std::optional<Affines> stored_affines(const Graph& int8, ValueId id, const Shape& shape,
                                      std::int64_t axis) {
  const Node* stored = dequantization_of(int8, id);
  if (stored == nullptr) return std::nullopt;
  const Node& node = *stored;
  const Tensor* integers = int8.value(node.inputs[0]).constant.get();
  const Tensor* scale = int8.value(node.inputs[1]).constant.get();
  if (integers == nullptr || scale == nullptr || scale->dtype() != DType::kFloat32) {
    return std::nullopt;
  }
  const auto refuse_weight = [&](std::string_view what) {
    refuse(to_text("weights '", int8.value(node.inputs[0]).name, "' ", what));
  };
  const bool is_signed = integers->dtype() == DType::kInt8;
  if (!is_signed && integers->dtype() != DType::kUInt8) {
    refuse_weight(to_text("are ", name_of(integers->dtype()), ", expected int8 or uint8"));
  }
  Affines affines;
  const auto scales = scale->values<float>();
  affines.scales.assign(scales.begin(), scales.end());
  if (scales.size() != 1 || scale->shape().rank() == 1) {
    std::int64_t along = node.get_int("axis", 1);
    if (along < 0) along += shape.rank();
    if (scales.size() != 1 &&
        (along != axis || static_cast<std::int64_t>(scales.size()) != shape[axis])) {
      refuse_weight("have scales along another axis than their output channels");
    }
    if (along == axis && shape[axis] == static_cast<std::int64_t>(scales.size())) {
      affines.axis = axis;
    }
  }
  if (!node.has_input(2)) {
    if (!is_signed) refuse_weight("are uint8 without zero points");
    return affines;
  }
  const Tensor* zeros = int8.value(node.inputs[2]).constant.get();
  if (zeros == nullptr || zeros->elements() != scale->elements()) return std::nullopt;
  bool any = false;
  for (const std::int64_t zero : to_int64s(*zeros)) {
    affines.zero_points.push_back(static_cast<std::int32_t>(is_signed ? zero : zero - 128));
    any = any || affines.zero_points.back() != 0;
  }
  if (!any) affines.zero_points.clear();
  return affines;
}

/// The value that quantize() subtracts from the bias of each output channel to get the bias of the
/// INT8 model.
std::vector<double> bias_shift(const Graph& fp32, const WeightPorts& ports, const Tensor& bias) {
  const std::vector<float> real = real_bias(fp32, ports);
  if (bias.dtype() != DType::kFloat32 ||
      bias.elements() != static_cast<std::int64_t>(real.size())) {
    return {};
  }
  std::vector<double> shift;
  for (std::size_t c = 0; c < real.size(); ++c) {
    shift.push_back(static_cast<double>(real[c]) - static_cast<double>(bias.values<float>()[c]));
  }
  return shift;
}

/// The shifts of all layers. `fp32`: the network as it was rewritten.
BiasShifts bias_shifts(const Graph& fp32, const Graph& int8) {
  BiasShifts shifts;
  const auto counterparts = nodes_by_name(int8);
  for (const NodeId id : fp32.nodes()) {
    const auto ports = weight_ports(fp32, id);
    if (!ports) continue;
    const std::string name(name_of(fp32, id));
    const auto found = counterparts.find(name);
    if (found == counterparts.end() || !int8.node(found->second).has_input(2)) continue;
    const Node& counterpart = int8.node(found->second);
    if (dequantization_of(int8, counterpart.inputs[1]) == nullptr) continue;
    const std::shared_ptr<const Tensor> bias = reals_of(int8, counterpart.inputs[2]);
    if (bias == nullptr) continue;
    std::vector<double> shift = bias_shift(fp32, *ports, *bias);
    if (!shift.empty()) shifts.emplace(name, std::move(shift));
  }
  return shifts;
}

/// The integers of a layer's weight; null where it has none.
std::shared_ptr<const Tensor> stored_integers(const Graph& int8, const Node& layer) {
  if (!layer.has_input(1)) return nullptr;
  const Node* stored = dequantization_of(int8, layer.inputs[1]);
  return stored == nullptr ? nullptr : int8.value(stored->inputs[0]).constant;
}

void add_layers(const Graph& fp32, const Graph& int8, StaticInputs& base) {
  const bool is_rounded_on_images = int8.info.metadata.contains(std::string(kRoundingKey));
  const auto counterparts = nodes_by_name(int8);
  bool any_per_channel = false;
  bool any_zero_points = false;
  for (const NodeId id : fp32.nodes()) {
    const auto ports = weight_ports(fp32, id);
    if (!ports) continue;
    const std::string name(name_of(fp32, id));
    const auto found = counterparts.find(name);
    if (found == counterparts.end()) refuse(to_text("it has no node '", name, "'"));
    const Node* counterpart = &int8.node(found->second);
    std::optional<Affines> affines;
    if (counterpart->has_input(1)) {
      affines = stored_affines(int8, counterpart->inputs[1],
                               fp32.value(ports->weight).constant->shape(), ports->axis);
    }
    if (!affines) {
      base.options.exclude.push_back(name);
      continue;
    }
    if (is_rounded_on_images) base.learned.rounded[name] = {stored_integers(int8, *counterpart)};
    any_per_channel = any_per_channel || affines->axis >= 0;
    any_zero_points = any_zero_points || !affines->zero_points.empty();
    WeightEntry entry;
    entry.tensor = fp32.value(ports->weight).name;
    entry.consumer = name;
    entry.affines = *std::move(affines);
    base.table.weights.push_back(std::move(entry));
  }
  base.learned.bias_shifts = bias_shifts(fp32, int8);
  base.table.types.weight_granularity =
      any_per_channel ? Granularity::kPerChannel : Granularity::kPerTensor;
  base.table.types.weight_symmetry = any_zero_points ? Symmetry::kAsymmetric : Symmetry::kSymmetric;
}

/// An entry of the metadata; empty without it.
std::string entry_of(const Graph& graph, std::string_view key) {
  const auto found = graph.info.metadata.find(std::string(key));
  return found == graph.info.metadata.end() ? std::string() : found->second;
}

/// The choice of pairs that an INT8 model names.
std::optional<WeightPairs> pairs_of(const Graph& int8) {
  if (entry_of(int8, kPairsKey).empty()) return std::nullopt;
  return WeightPairs::kLimited;
}

void take_target(const Graph& int8, QuantizeOptions& options) {
  const std::string target = entry_of(int8, kTargetKey);
  const bool known = std::any_of(targets().begin(), targets().end(),
                                 [&](const Target& row) { return row.name == target; });
  if (known) options.target = target;
}

/// The integers of the weights in an INT8 model of qtool, by the name of the layer.
std::map<std::string, std::shared_ptr<const Tensor>> integers_of_layers(const Graph& prepared,
                                                                        const Graph& int8) {
  const auto counterparts = nodes_by_name(int8);
  std::map<std::string, std::shared_ptr<const Tensor>> found;
  for (const NodeId id : prepared.nodes()) {
    if (!weight_ports(prepared, id)) continue;
    const auto counterpart = counterparts.find(name_of(prepared, id));
    if (counterpart == counterparts.end()) continue;
    std::shared_ptr<const Tensor> integers = stored_integers(int8, int8.node(counterpart->second));
    if (integers != nullptr) found.emplace(name_of(prepared, id), std::move(integers));
  }
  return found;
}

}  // namespace

StaticInputs recovered_table_and_options(const Graph& fp32, const Graph& emitted) {
  const auto& metadata = emitted.info.metadata;
  if (const std::string rewrites = entry_of(emitted, kRewritesKey); !rewrites.empty()) {
    refuse(to_text("it was rewritten before (", rewrites,
                   "); the table that it was made of tells more, see --table"));
  }
  if (metadata.contains(std::string(kWideKey))) refuse("it keeps 16 bits of some tensors");
  StaticInputs base;
  take_target(emitted, base.options);
  const QuantizedParts parts = quantized_parts(fp32, emitted);
  add_activations(parts.activations, base.table);
  base.options.bias_correction = BiasCorrection::kSequential;
  add_layers(fp32, with_integer_weights(emitted), base);
  base.table.types.weight_pairs = pairs_of(emitted);
  return base;
}

StaticInputs recovered_options(const Graph& prepared, const Graph& loaded, CalibrationTable table) {
  StaticInputs base;
  take_target(loaded, base.options);
  if (table.model_fingerprint != 0) base.options.model_fingerprint = table.model_fingerprint;
  base.options.table_hash = entry_of(loaded, kTableHashKey);
  base.table = std::move(table);
  const std::optional<WeightPairs> pairs = pairs_of(loaded);
  if (pairs != base.table.types.weight_pairs) {
    base.options.types.weight_pairs = pairs.value_or(WeightPairs::kFree);
  }
  std::vector<std::string> names;
  if (const std::string rewrites = entry_of(loaded, kRewritesKey); !rewrites.empty()) {
    for (const std::string& name : split(rewrites, ',')) names.push_back(name);
  }
  // Named rewrites are those of an option. They would hold against the rewrites of an effort.
  if (names != base.table.rewrites.names) base.options.rewrites = std::move(names);
  const auto integers = integers_of_layers(prepared, loaded);
  if (const std::string rounding = entry_of(loaded, kRoundingKey); !rounding.empty()) {
    base.options.rounding = rounding;
    for (const auto& [layer, values] : integers) base.learned.rounded[layer] = {values};
  }
  const std::uint64_t wanted = fingerprint(loaded);
  const Graph whole = quantize(prepared, base).graph;
  if (fingerprint(whole) == wanted) return base;
  for (const auto& [layer, values] : integers_of_layers(prepared, whole)) {
    if (!integers.contains(layer)) base.options.exclude.push_back(layer);
  }
  if (!base.options.exclude.empty() && fingerprint(quantize(prepared, base).graph) == wanted) {
    return base;
  }
  // Biases that were corrected on images are in the model alone.
  base.options.bias_correction = BiasCorrection::kSequential;
  base.learned.bias_shifts =
      bias_shifts(lay_groundwork(prepared, base.table, base.options, base.learned).graph(), loaded);
  if (fingerprint(quantize(prepared, base).graph) == wanted) return base;
  refuse("its table and what it says of itself give another model");
}

}  // namespace qtool
