#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/activation_affines.h"
#include "quantize/layer.h"
#include "quantize/placement/placement.h"

// The last stage: writes the decisions of the earlier stages as a standard ONNX graph. One file per
// mode.
namespace qtool {

/// A layer that went through the stages before emission.
struct StagedLayer {
  Layer layer;
  bool corrected = false;  ///< bias correction changed its bias
};

/// Takes one layer through the stages. It is called layer by layer, so that not all layers need to
/// be in memory.
using LayerStages = std::function<StagedLayer(NodeId node, const WeightPorts& ports)>;

/// Everything that a static model is written from: the rewritten network and what was decided about
/// each node, tensor and layer.
struct Decisions {
  const Graph& graph;
  const Placement& placement;
  const Target& target;
  const ActivationAffines& activations;
  LayerStages stages;  ///< gives the integers of a layer
};

#define QTOOL_FORM(name, kind, summary) \
  Graph emit_##name(const Decisions& decisions, QuantizeReport& report);
#include "quantize/emission/forms.inc"

/// Writes a static model in the given form. Adds its counts to `report`.
Graph emit_static(ModelForm form, const Decisions& decisions, QuantizeReport& report);

/// Replaces every product that the placement runs on integers by one that finds the range of its
/// input while the model runs. A recurrent layer keeps its operator. Its input goes through a
/// DynamicQuantizeLinear and a DequantizeLinear, and each of its weights is int8, followed by a
/// DequantizeLinear. `lstm` can request ONNX Runtime's own operator instead. Adds its counts to
/// `report`.
Graph emit_dynamic(const Graph& graph, const Placement& placement, const LayerStages& stages,
                   DynamicLstm lstm, QuantizeReport& report);

/// Stores the weights of the products in `ids` as int8, followed by a DequantizeLinear. Adds its
/// counts to `report`.
Graph emit_weight_only(const Graph& graph, std::span<const NodeId> ids, const LayerStages& stages,
                       QuantizeReport& report);

/// A hash of the integers, to find layers that can share one stored tensor.
std::uint64_t digest(const Tensor& integers);

/// The beginning of the names of tensors that are added for the tensor `name`: the last 40 bytes of
/// `name`. Some converters make very long names. Whole names would then take more space in the file
/// than the tensors.
std::string name_stem(std::string_view name);

}  // namespace qtool
