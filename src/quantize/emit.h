#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/activation_affines.h"
#include "quantize/layer.h"
#include "quantize/placement.h"

// The last stage: writes what was decided as a standard ONNX graph. One file per mode.
namespace qtool {

/// A layer that went through the stages before emission.
struct StagedLayer {
  Layer layer;
  bool corrected = false;  ///< its bias is not the model's any more
};

/// Takes one layer through the stages. Asked layer by layer, so that only one is in memory.
using LayerStages = std::function<StagedLayer(NodeId node, const WeightPorts& ports)>;

/// A QuantizeLinear/DequantizeLinear pair behind each quantized tensor; int8 weights, int32 biases
/// and u8 constants behind a DequantizeLinear each, or FP32 ones behind a pair, as the target
/// stores constants. Integers of fewer than 8 bits keep
/// to their limits by a Clip before the QuantizeLinear, which saturates at 8 only; a Relu or Clip
/// that is there already becomes it. Counts go into `report`.
Graph emit_static(const Graph& graph, const Placement& placement, const Target& target,
                  const ActivationAffines& activations, const LayerStages& stages,
                  QuantizeReport& report);

/// Writes every product that the placement runs on integers as one that measures its input while
/// running. Counts go into `report`.
Graph emit_dynamic(const Graph& graph, const Placement& placement, const LayerStages& stages,
                   QuantizeReport& report);

/// Stores the weights of the products in `ids` as int8 behind a DequantizeLinear. Counts go into
/// `report`.
Graph emit_weight_only(const Graph& graph, std::span<const NodeId> ids, const LayerStages& stages,
                       QuantizeReport& report);

/// A hash of the integers: layers share stored weights only where they are equal.
std::uint64_t digest(const Tensor& integers);

/// What the names of added tensors begin with: the end of the name of the tensor they belong to,
/// which some converters make longer than all that is added for it.
std::string name_stem(std::string_view name);

}  // namespace qtool
