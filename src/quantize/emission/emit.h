#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/activation_affines.h"
#include "quantize/layer.h"
#include "quantize/placement/placement.h"

// The last stage: writes what was decided as a standard ONNX graph. One file per mode.
namespace qtool {

/// A layer that went through the stages before emission.
struct StagedLayer {
  Layer layer;
  bool corrected = false;  ///< bias correction changed its bias
};

/// Takes one layer through the stages. Asked layer by layer, so that only one is in memory.
using LayerStages = std::function<StagedLayer(NodeId node, const WeightPorts& ports)>;

/// Puts a QuantizeLinear/DequantizeLinear pair behind each quantized tensor. Weights become int8,
/// biases int32, and other constants integers of the activations' type, each behind a
/// DequantizeLinear; where the target stores FP32 constants, weights and other constants stay FP32
/// behind a pair. A QuantizeLinear saturates only at the limits of 8 bits, so a Clip before it
/// keeps integers of fewer bits within theirs; a Relu or Clip that the graph has there becomes that
/// Clip. Adds its counts to `report`.
Graph emit_static(const Graph& graph, const Placement& placement, const Target& target,
                  const ActivationAffines& activations, const LayerStages& stages,
                  QuantizeReport& report);

/// Replaces every product that the placement runs on integers by one that finds the range of its
/// input while the model runs. A recurrent layer stays one: its input goes through a
/// DynamicQuantizeLinear and a DequantizeLinear, its weights are int8 behind a DequantizeLinear
/// each; `lstm` can ask for ONNX Runtime's own operator. Adds its counts to `report`.
Graph emit_dynamic(const Graph& graph, const Placement& placement, const LayerStages& stages,
                   DynamicLstm lstm, QuantizeReport& report);

/// Stores the weights of the products in `ids` as int8 behind a DequantizeLinear. Adds its
/// counts to `report`.
Graph emit_weight_only(const Graph& graph, std::span<const NodeId> ids, const LayerStages& stages,
                       QuantizeReport& report);

/// A hash of the integers, to find layers that can share one stored tensor.
std::uint64_t digest(const Tensor& integers);

/// What the names of the tensors that are added for the tensor `name` begin with: its last 40
/// bytes. Some converters make names so long that whole ones would take more of the file than the
/// tensors.
std::string name_stem(std::string_view name);

}  // namespace qtool
