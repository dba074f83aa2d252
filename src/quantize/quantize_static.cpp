// Quantization with ranges, scales and zero points from a calibration table.
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/quantize.h"
#include "quantize/bias_correction.h"
#include "quantize/emit.h"
#include "quantize/operands.h"
#include "quantize/placement.h"
#include "quantize/provenance.h"
#include "quantize/rounding.h"
#include "quantize/table_view.h"
#include "quantize/weights.h"

namespace qtool {
namespace {

void require_same_model(const Graph& graph, const CalibrationTable& table,
                        const StaticOptions& options) {
  const std::uint64_t expected =
      options.model_fingerprint ? *options.model_fingerprint : fingerprint(graph);
  // Tables of other tools have no fingerprint of their model. Of them only tensor names are
  // checked.
  if (table.model_fingerprint == expected || table.model_fingerprint == 0) return;
  throw Error(ErrorCode::kMismatch,
              concat("the calibration table belongs to another model: it has fingerprint ",
                     to_hex(table.model_fingerprint), ", the model ", to_hex(expected)));
}

// Where the graph is quantized, and the scales and zero points of its activations.
struct Decision {
  Placement placement;
  ActivationAffines activations;
};

Decision decide_all(const Graph& graph, const Target& target, const TableView& view,
                    const std::vector<std::string>& exclude) {
  PlacementOptions options;
  options.exclude = exclude;
  options.has_range = [&](std::string_view tensor) { return view.has_range(tensor); };
  Decision decision;
  decision.placement = place(graph, target, options);
  decision.activations = choose_activation_affines(graph, decision.placement, target, view);
  return decision;
}

std::vector<std::string> missing_ranges(const Graph& graph, const Target& target,
                                        const TableView& view,
                                        const std::vector<std::string>& exclude) {
  PlacementOptions any_table;
  any_table.exclude = exclude;
  const Placement ideal = place(graph, target, any_table);
  std::vector<std::string> missing;
  for (const ValueId id : ideal.quantized) {
    // A tensor that a passing node writes has the range of the tensor that the node reads.
    if (ideal.source[static_cast<std::size_t>(id)] != id) continue;
    const std::string& name = graph.value(id).name;
    if (!view.has_range(name)) missing.push_back(name);
  }
  return missing;
}

BiasShift bias_shift(const Graph& graph, const StaticOptions& options) {
  if (options.bias_correction == BiasCorrection::kTable) {
    return [&](const Layer& layer) { return weight_bias_shift(graph, layer); };
  }
  if (options.bias_correction == BiasCorrection::kSequential) {
    return [&](const Layer& layer) {
      const auto found = options.bias_shifts.find(name_of(graph, layer.node));
      if (found == options.bias_shifts.end()) return std::vector<double>();
      if (static_cast<std::int64_t>(found->second.size()) != layer.ports.channels) {
        throw Error(ErrorCode::kInvalidArgument,
                    concat("bias shifts of '", found->first, "': found ", found->second.size(),
                           ", expected ", layer.ports.channels));
      }
      return found->second;
    };
  }
  return {};
}

// A layer after its first stages. Its scales are also what fill_weight_entries() stores.
Layer scaled_layer(const Graph& graph, const Target& target, const TableView& view,
                   const ActivationAffines& activations, NodeId node, const WeightPorts& ports,
                   int threads) {
  const ValueId input = graph.node(node).inputs[0];
  Layer layer = begin_layer(
      graph, node, ports, weight_scheme(graph, node, target),
      {activations.by_value[static_cast<std::size_t>(input)].value(), view.channel_means(input)});
  choose_scales(layer, target.weight_method, target.weight_granularity,
                view.weight_affines(ports, node), threads);
  return layer;
}

void add_metadata(const CalibrationTable& table, Graph& graph) {
  auto& metadata = graph.info.metadata;
  // Tables of other tools do not say how images are prepared; the model may.
  if (has_provenance(table)) metadata[std::string(kPreprocessKey)] = to_json_text(table.preprocess);
  metadata["qtool.method"] = table.method;
  metadata["qtool.table_hash"] = to_hex(hash_bytes(write_table(table)));
}

}  // namespace

Quantized quantize(const Graph& prepared, const CalibrationTable& table,
                   const StaticOptions& options) {
  const Target target = chosen_target(table, options);
  const RoundingInfo& rounding = find_rounding(options.rounding);
  require_float_graph(prepared);
  require_same_model(prepared, table, options);
  const TableView view(prepared, table, options, target);
  const Decision decision = decide_all(prepared, target, view, options.exclude);

  Quantized quantized;
  QuantizeReport& report = quantized.report;
  report.target = options.target;
  for (const NodePlacement& placed : decision.placement.nodes) {
    report.nodes.push_back({std::string(name_of(prepared, placed.id)),
                            prepared.node(placed.id).op_type, placed.role, placed.reason});
  }
  report.unequal_concats = decision.activations.unequal;
  report.non_finite = non_finite_weights(prepared);
  report.missing_ranges = missing_ranges(prepared, target, view, options.exclude);
  const BiasShift shift = bias_shift(prepared, options);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    StagedLayer staged{
        scaled_layer(prepared, target, view, decision.activations, node, ports, options.threads),
        false};
    round_weights(staged.layer, rounding);
    staged.corrected = correct_bias(prepared, target, shift, staged.layer, report);
    return staged;
  };
  quantized.graph =
      emit_static(prepared, decision.placement, target, decision.activations, stages, report);
  add_metadata(table, quantized.graph);
  add_provenance(prepared, options, quantized.graph);
  return quantized;
}

void fill_weight_entries(const Graph& prepared, const StaticOptions& options,
                         CalibrationTable& table) {
  const Target target = chosen_target(table, options);
  const TableView view(prepared, table, options, target);
  const Decision decision = decide_all(prepared, target, view, options.exclude);
  std::vector<WeightEntry> entries;
  for (const NodePlacement& placed : decision.placement.nodes) {
    if (placed.role != NodeRole::kInteger) continue;
    const auto ports = weight_ports(prepared, placed.id);
    if (!ports) continue;
    Layer layer = scaled_layer(prepared, target, view, decision.activations, placed.id, *ports,
                               options.threads);
    WeightEntry entry;
    entry.tensor = prepared.value(ports->weight).name;
    entry.consumer = name_of(prepared, placed.id);
    entry.bits = layer.scheme.bits;
    entry.affines = std::move(layer.affines);
    entries.push_back(std::move(entry));
  }
  const auto key_of = [](const WeightEntry& entry) {
    return std::pair(entry.tensor, entry.consumer);
  };
  std::set<std::pair<std::string, std::string>> known;
  for (const WeightEntry& entry : entries) known.insert(key_of(entry));
  for (WeightEntry& earlier : table.weights) {
    if (known.insert(key_of(earlier)).second) entries.push_back(std::move(earlier));
  }
  table.weights = std::move(entries);
}

}  // namespace qtool
