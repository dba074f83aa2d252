#include "search/mix_forecast.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "compare/model_pair.h"
#include "exec/step_of.h"
#include "graph/node_name.h"
#include "lower/specialize.h"
#include "qtool/exec/executor.h"
#include "quantize/placement/operands.h"

namespace qtool {
namespace {

/// The cost, in multiplications, of an element that FP32 computes, or that is quantized or
/// dequantized. It takes about a nanosecond, in which one core does some 30 multiplications. Only
/// the order of magnitude must be right, because a limit on time is checked by measuring.
constexpr double kMacsPerElement = 32.0;

bool is_integer(NodeRole role) {
  return role == NodeRole::kInteger || role == NodeRole::kPassing || role == NodeRole::kFused;
}

}  // namespace

MixForecast::MixForecast(const Executor& fp32, std::span<const Shape> inputs,
                         const Exclusions& exclusions, const AnalyzeResult& analysis)
    : graph_(&fp32.graph()),
      exclusions_(&exclusions),
      noise_of_value_(graph_->value_limit()),
      noise_of_node_(node_limit(*graph_)),
      macs_(noise_of_node_.size()),
      elements_(graph_->value_limit()) {
  const auto by_name = nodes_by_name(*graph_);
  for (const ErrorSource& source : analysis.sources) {
    // A source whose noise is not finite is the worst.
    constexpr double kWorst = 1e30;
    const double noise = std::isfinite(source.noise) ? source.noise : kWorst;
    if (source.kind != SourceKind::kActivation) {
      const auto node = by_name.find(source.node);
      if (node != by_name.end()) noise_of_node_[node->second] += noise;
    } else if (const std::optional<ValueId> id = graph_->find_value(source.name)) {
      noise_of_value_[*id] += noise;
    }
  }

  const std::shared_ptr<const Plan> plan = compile_pair(fp32, nullptr, inputs, 1).fp32;
  const ShapedGraph shaped = specialize(*graph_, input_shapes(*plan));
  for (std::size_t i = 0; i < std::min(elements_.size(), shaped.infos.size()); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (shaped.infos[id]) elements_[id] = static_cast<double>(shaped.infos[id]->shape.elements());
  }
  const StepsOfNodes steps_of(plan->steps(), *graph_);
  for (const NodeId id : graph_->nodes()) {
    if (!multiplies(graph_->node(id))) continue;
    const std::optional<std::size_t> step = steps_of.step_of(id);
    if (!step) continue;
    macs_[id] = static_cast<double>(plan->steps()[*step].macs);
    total_macs_ += macs_[id];
  }
}

double MixForecast::elements(ValueId id) const { return id == kNoValue ? 0.0 : elements_[id]; }

Forecast MixForecast::of(const NodeSet& excluded) const {
  const Placement placement = exclusions_->placement(excluded);
  IdMap<NodeId, char> integer(macs_.size(), 0);
  Forecast forecast;
  double float_macs = 0.0;
  double moved = 0.0;  // elements that FP32 computes or that are converted
  for (const NodePlacement& placed : placement.nodes) {
    integer[placed.id] = is_integer(placed.role) ? 1 : 0;
    if (placed.role == NodeRole::kInteger) {
      forecast.noise += noise_of_node_[placed.id];
      continue;
    }
    float_macs += macs_[placed.id];
    const bool was_integer = is_integer(exclusions_->role(placed.id));
    if (placed.role == NodeRole::kFloat && was_integer && !multiplies(graph_->node(placed.id))) {
      moved += elements(first_output(graph_->node(placed.id)));
    }
  }
  for (const ValueId id : placement.quantized) {
    forecast.noise += noise_of_value_[id];
    const NodeId producer = graph_->value(id).producer;
    if (producer == kNoNode || integer[producer] == 0) moved += elements(id);
    const std::vector<NodeId>& readers = graph_->consumers(id);
    const bool read_in_float =
        graph_->is_output(id) || std::any_of(readers.begin(), readers.end(),
                                             [&](NodeId reader) { return integer[reader] == 0; });
    if (read_in_float) moved += elements(id);
  }
  const double total = std::max(total_macs_, 1.0);
  forecast.cost = (float_macs + kMacsPerElement * moved) / total;
  forecast.integer_share = (total_macs_ - float_macs) / total;
  return forecast;
}

double MixForecast::cost_of_wide(const std::vector<std::string>& tensors) const {
  // Passes over a tensor: rounding to two bytes, reading the first product, and adding it.
  constexpr double kPasses = 3.0;
  double macs = 0.0;
  for (const std::string& name : tensors) {
    const std::optional<ValueId> tensor = graph_->find_value(name);
    if (!tensor) continue;
    macs += kPasses * kMacsPerElement * elements(*tensor);
    for (const NodeId reader : graph_->consumers(*tensor)) {
      macs += macs_[reader] + kMacsPerElement * elements(first_output(graph_->node(reader)));
    }
  }
  return macs / std::max(total_macs_, 1.0);
}

}  // namespace qtool
