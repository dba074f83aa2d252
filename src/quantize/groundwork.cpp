#include "quantize/groundwork.h"

#include <utility>

#include "base/stop.h"
#include "graph/id_map.h"
#include "graph/node_name.h"
#include "quantize/bias_correction.h"
#include "quantize/placement/wide_tensors.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {

Groundwork::Groundwork(const Graph& prepared, const CalibrationTable& table, Target target,
                       std::span<const std::string> exclude, std::span<const std::string> rewrites,
                       const TunedRanges& tuned, std::span<const std::string> wide)
    : prepared_(prepared),
      given_(table),
      target_(std::move(target)),
      exclude_(exclude.begin(), exclude.end()),
      placement_(place_with_ranges(prepared, table)),
      rewritten_(rewrite(rewrites)),
      tuned_(tune(tuned)),
      graph_(rewritten_ ? rewritten_->graph : prepared_),
      table_(tuned_       ? *tuned_
             : rewritten_ ? rewritten_->table
                          : given_),
      view_(graph_, table_, target_),
      activations_(choose_activation_affines(graph_, placement_, target_, view_)) {
  place_wide_tensors(graph_, target_, activations_, wide, placement_);
}

Placement Groundwork::place_with_ranges(const Graph& graph, const CalibrationTable& table) const {
  const TableView view(graph, table, target_);
  PlacementOptions options;
  options.exclude = exclude_;
  options.has_range = [&](std::string_view tensor) { return view.has_range(tensor); };
  return place(graph, target_, options);
}

std::optional<Rewritten> Groundwork::rewrite(std::span<const std::string> rewrites) {
  if (rewrites.empty() && given_.rewrites.names.empty()) return std::nullopt;
  Rewritten network{prepared_, given_, {}};
  reports_ = apply_rewrites(rewrites, {target_, placement_}, network);
  // Rewrites may add nodes to functions.
  placement_ = place_with_ranges(network.graph, network.table);
  return network;
}

std::optional<CalibrationTable> Groundwork::tune(const TunedRanges& ranges) {
  if (ranges.empty()) return std::nullopt;
  CalibrationTable table = rewritten_ ? rewritten_->table : given_;
  for (ActivationEntry& entry : table.activations) {
    const auto tuned = ranges.find(entry.tensor);
    if (tuned == ranges.end() || entry.origin == Origin::kUser) continue;
    entry.range = tuned->second;
    entry.affine = choose_affine(entry.range, target_.activations);
    entry.dtype = target_.activations.dtype;
    ++tuned_ranges_;
  }
  return table;
}

std::vector<std::string> Groundwork::missing_ranges() const {
  PlacementOptions any_table;
  any_table.exclude = exclude_;
  const Placement ideal = place(graph_, target_, any_table);
  std::vector<std::string> missing;
  for (const ValueId id : ideal.quantized) {
    // The output of a passing node shares the range of its input.
    if (ideal.source[id] != id) continue;
    const std::string& name = graph_.value(id).name;
    if (!view_.has_range(name)) missing.push_back(name);
  }
  return missing;
}

bool Groundwork::scales_fit(ValueId weight) const {
  if (given_.rewrites == table_.rewrites) return true;
  // Scales of the network before the rewrites still fit the weights that no rewrite changed.
  return given_.rewrites.names.empty() && index_of(weight) < prepared_.value_limit() &&
         prepared_.value(weight).constant == graph_.value(weight).constant;
}

Layer Groundwork::scaled_layer(NodeId node, const WeightPorts& ports, int threads) const {
  const ValueId input = graph_.node(node).inputs[0];
  Layer layer = begin_layer(graph_, node, ports, weight_scheme(graph_, node, target_),
                            {activations_.by_value[input].value(), means_for(graph_, node, view_)});
  if (target_.weight_pairs == WeightPairs::kLimited) {
    layer.pair_limit = pair_limit_of(graph_, node, layer.layout, target_);
  }
  std::optional<Affines> given;
  if (scales_fit(ports.weight)) given = view_.weight_affines(ports, node);
  choose_scales(layer, target_.weight_method, target_.granularity_of(graph_.node(node).op_type),
                std::move(given), threads);
  return layer;
}

Groundwork lay_groundwork(const Graph& prepared, const CalibrationTable& table,
                          const StaticOptions& options, const Learned& learned) {
  const StopScope scope(options.stop);
  return {prepared,
          table,
          chosen_target(table, options),
          options.exclude,
          options.rewrites ? *options.rewrites : table.rewrites.names,
          learned.tuned_ranges,
          options.wide};
}

std::vector<WeightEntry> weight_entries(const Groundwork& ground, int threads) {
  std::vector<WeightEntry> entries;
  for (const NodePlacement& placed : ground.placement().nodes) {
    if (placed.role != NodeRole::kInteger) continue;
    const auto ports = weight_ports(ground.graph(), placed.id);
    if (!ports) continue;
    Layer layer = ground.scaled_layer(placed.id, *ports, threads);
    WeightEntry entry;
    entry.tensor = ground.graph().value(ports->weight).name;
    entry.consumer = name_of(ground.graph(), placed.id);
    entry.bits = layer.scheme.bits;
    entry.affines = std::move(layer.affines);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace qtool
