// Quantization with ranges, scales and zero points from a calibration table.
#include <set>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/quantize.h"
#include "quantize/bias_correction.h"
#include "quantize/emission/emit.h"
#include "quantize/emission/provenance.h"
#include "quantize/groundwork.h"
#include "quantize/placement/operands.h"
#include "quantize/placement/placement.h"
#include "quantize/rounding/rounding.h"
#include "quantize/table_view.h"
#include "quantize/weights/weight_pairs.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

BiasShift bias_shift(const Graph& graph, const CalibrationTable& table, BiasCorrection correction,
                     const BiasShifts& measured) {
  if (correction == BiasCorrection::kTable) return table_bias_shift(graph, table);
  if (correction == BiasCorrection::kSequential) {
    return [&](const Layer& layer) {
      // The results of a MatMul or recurrent layer are not measured on images. Their shifts come
      // from the table's channel means.
      const bool is_measured = has_bias_input(traits_of(graph.node(layer.node)));
      if (!is_measured) return weight_bias_shift(graph, layer);
      const auto found = measured.find(name_of(graph, layer.node));
      if (found == measured.end()) return std::vector<double>();
      if (static_cast<std::int64_t>(found->second.size()) != layer.ports.channels) {
        throw Error(ErrorCode::kInvalidArgument,
                    to_text("bias shifts of '", found->first, "': found ", found->second.size(),
                            ", expected ", layer.ports.channels));
      }
      return found->second;
    };
  }
  return {};
}

void require_form(const StaticOptions& options) {
  const Target& target = find_target(options.target);
  if (target.takes(options.form)) return;
  throw Error(ErrorCode::kUsage,
              to_text("target '", target.name, "' takes models of form ", name_of(target.forms[0]),
                      " only, found a request for ", name_of(options.form)));
}

/// Returns `types`, with its choices about weights replaced by those that `given` makes.
TypeChoices with_weights_of(const TypeChoices& given, TypeChoices types) {
  const auto take = [](const auto& choice, auto& own) {
    if (choice) own = choice;
  };
  take(given.weight_method, types.weight_method);
  take(given.weight_bits, types.weight_bits);
  take(given.weight_granularity, types.weight_granularity);
  take(given.weight_symmetry, types.weight_symmetry);
  take(given.winograd_bits, types.winograd_bits);
  take(given.weight_pairs, types.weight_pairs);
  return types;
}

void add_metadata(const CalibrationTable& table, const StaticOptions& options, Graph& graph) {
  auto& metadata = graph.info.metadata;
  // Tables of other tools do not say how images are prepared. The model may say it, so its entry is
  // kept.
  if (has_provenance(table) && table.preprocess) {
    metadata[std::string(kPreprocessKey)] = to_json_text(*table.preprocess);
  }
  metadata["qtool.method"] = table.method;
  metadata[std::string(kTableHashKey)] =
      options.table_hash ? *options.table_hash : table_hash(table);
}

}  // namespace

Quantized quantize(const Graph& prepared, const CalibrationTable& table,
                   const StaticOptions& options, const Learned& learned) {
  const StopScope scope(options.stop);
  const RoundingInfo& rounding = rounding_of(options, learned.rounded);
  require_form(options);
  require_float_graph(prepared);
  require_same_model(prepared, table, options);
  const Groundwork ground = lay_groundwork(prepared, table, options, learned);
  const Graph& graph = ground.graph();

  Quantized quantized;
  QuantizeReport& report = quantized.report;
  report.target = options.target;
  report.rewrites = ground.reports();
  report.nodes = report_nodes(graph, ground.placement());
  report.tuned_ranges = ground.tuned_ranges();
  report.residuals = ground.placement().residuals;
  report.functions = std::ssize(ground.placement().functions);
  report.unequal_concats = ground.activations().unequal;
  report.non_finite = non_finite_weights(graph);
  report.missing_ranges = ground.missing_ranges();
  const BiasShift shift = bias_shift(graph, table, options.bias_correction, learned.bias_shifts);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    check_stop_inside();  // the scales of a large layer may take seconds
    StagedLayer staged{ground.scaled_layer(node, ports, options.threads), false};
    round_weights(graph, rounding, learned.rounded, staged.layer, report);
    report.saturating_pairs += saturating_pairs(graph, ground.target(), staged.layer);
    staged.corrected = correct_bias(graph, ground.target(), shift, staged.layer, report);
    return staged;
  };
  for (const WideTensor& wide : ground.placement().wide) {
    report.wide.push_back(graph.value(wide.tensor).name);
  }
  for (const ValueId tensor : ground.placement().not_wide) {
    report.not_wide.push_back(graph.value(tensor).name);
  }
  quantized.graph = emit_static(
      options.form, {graph, ground.placement(), ground.target(), ground.activations(), stages},
      report);
  add_metadata(table, options, quantized.graph);
  if (ground.target().weight_pairs == WeightPairs::kLimited) {
    quantized.graph.info.metadata[std::string(kPairsKey)] =
        to_text(std::int64_t{pair_limit_of(ground.target())});
  }
  if (!report.wide.empty()) {
    quantized.graph.info.metadata[std::string(kWideKey)] = to_text(std::ssize(report.wide));
  }
  if (report.tuned_ranges > 0) {
    quantized.graph.info.metadata[std::string(kTunedKey)] = to_text(report.tuned_ranges);
  }
  add_provenance(prepared, options, ground.rewrites().names, quantized.graph);
  if (!ground.rewrites().names.empty()) {
    quantized.graph.info.metadata[std::string(kScaledChannelsKey)] = to_json_text(ground.scaled());
  }
  return quantized;
}

Quantized quantize(const Graph& prepared, const StaticInputs& inputs) {
  return quantize(prepared, inputs.table, inputs.options, inputs.learned);
}

void fill_weight_entries(const Graph& prepared, const StaticOptions& options,
                         CalibrationTable& table, const Learned& learned) {
  const Groundwork ground = lay_groundwork(prepared, table, options, learned);
  std::vector<WeightEntry> entries = weight_entries(ground, options.threads);
  TypeChoices types = with_weights_of(options.types, table.types);
  // The scales are for this target, which may not need the limit that the table was made with.
  if (ground.target().weight_pairs == WeightPairs::kFree && types.weight_pairs) {
    types.weight_pairs = WeightPairs::kFree;
  }
  // The table's earlier scales are for other types and cannot be mixed with the new ones.
  if (types != table.types) table.weights.clear();
  const auto key_of = [](const WeightEntry& entry) {
    return std::pair(entry.tensor, entry.consumer);
  };
  std::set<std::pair<std::string, std::string>> known;
  for (const WeightEntry& entry : entries) known.insert(key_of(entry));
  for (WeightEntry& earlier : table.weights) {
    if (known.insert(key_of(earlier)).second) entries.push_back(std::move(earlier));
  }
  table.types = types;
  table.rewrites = ground.rewrites();
  table.weights = std::move(entries);
}

}  // namespace qtool
