#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/quantize/weights.h"
#include "quantize/maps.h"

namespace qtool {

/// The maps that the caller wants for the weight of a node instead of the target's method; nothing
/// for none.
using GivenMaps = std::function<std::optional<WeightMaps>(const WeightPorts& ports, NodeId node)>;

/// A layer whose weights have become integers.
struct QuantizedLayer {
  NodeId node = kNoNode;
  const WeightPorts& ports;
  ValueId activation = kNoValue;  ///< its input
  const Tensor& real;             ///< weights before and after, in the node's layout
  const Tensor& integers;
  const WeightMaps& maps;
};

/// What to take from the bias of each output channel of a layer; empty: nothing.
using BiasShift = std::function<std::vector<double>(const QuantizedLayer& layer)>;

/// Maps of the weight of `node` whose input has the scale `input_scale`, biases fitting.
WeightMaps choose_weight_maps(const Graph& graph, NodeId node, const WeightPorts& ports,
                              const Target& target, float input_scale, const GivenMaps& given,
                              int threads);

/// Symmetric scales per output channel of the weights of `node` by the target's method and bits,
/// for modes without an input scale and an integer bias.
std::vector<float> symmetric_scales(const Graph& graph, NodeId node, const WeightPorts& ports,
                                    const Tensor& weights, const Target& target);

/// Writes the decision into the graph: a QuantizeLinear/DequantizeLinear pair behind each quantized
/// tensor, int8 weights and int32 biases behind a DequantizeLinear each, u8 constants likewise.
/// Integers of fewer than 8 bits keep to their limits by a Clip before the QuantizeLinear, which
/// saturates at 8 only; a Relu or Clip that is there already becomes it.
/// The bias of a layer, made if it has none, gives up what `shift` says. Counts go into `report`.
Graph emit_qdq(const Graph& graph, const Placement& placement, const Target& target,
               const ChosenMaps& maps, const GivenMaps& given, const BiasShift& shift,
               QuantizeReport& report, int threads = 1);

/// What the names of added tensors begin with: the end of the name of the tensor they belong to,
/// which some converters make longer than all that is added for it.
std::string name_stem(std::string_view name);

/// Throws Error(kUnsupported) when the graph is below opset 13 or quantized already.
void require_float_graph(const Graph& graph);

/// Writes every product that the placement runs on integers as one that measures its input while
/// running. Counts go into `report`.
Graph emit_dynamic(const Graph& graph, const Placement& placement, const Target& target,
                   QuantizeReport& report);

/// Stores the weights of the products in `ids` as int8 behind a DequantizeLinear. Counts go into
/// `report`.
Graph emit_weight_only(const Graph& graph, std::span<const NodeId> ids, const Target& target,
                       QuantizeReport& report);

}  // namespace qtool
