#include "quantize/static_models.h"

#include <string>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "quantize/bias_correction.h"
#include "quantize/emission/emit.h"
#include "quantize/emission/provenance.h"
#include "quantize/placement/operands.h"
#include "quantize/rounding/rounding.h"
#include "quantize/weights/weight_pairs.h"

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

Groundwork checked_groundwork(const Graph& prepared, const CalibrationTable& table,
                              const StaticOptions& options, const Learned& learned) {
  const StopScope scope(options.stop);
  rounding_of(options, learned.rounded);
  require_form(options);
  require_float_graph(prepared);
  require_same_model(prepared, table, options);
  return lay_groundwork(prepared, table, options, learned);
}

Layer copy_of(const Layer& layer) {
  Layer copy;
  copy.node = layer.node;
  copy.ports = layer.ports;
  copy.input = layer.input;
  copy.weights = layer.weights.clone();
  copy.bias = layer.bias;
  copy.scheme = layer.scheme;
  copy.layout = layer.layout;
  copy.pair_limit = layer.pair_limit;
  copy.affines = layer.affines;
  copy.integers = layer.integers.clone();
  return copy;
}

}  // namespace

StaticModels::StaticModels(const Graph& prepared, const CalibrationTable& table,
                           const StaticOptions& options, const Learned& learned, Keep keep)
    : prepared_(prepared),
      table_(table),
      options_(options),
      learned_(learned),
      keep_(keep),
      ground_(checked_groundwork(prepared, table, options, learned)) {}

StaticModels::Rounded StaticModels::round(NodeId node, const WeightPorts& ports) const {
  const Graph& graph = ground_.graph();
  Rounded rounded;
  rounded.layer = ground_.scaled_layer(node, ports, options_.threads);
  QuantizeReport report;
  round_weights(graph, rounding_of(options_, learned_.rounded), learned_.rounded, rounded.layer,
                report);
  rounded.by_nearest = !report.nearest_layers.empty();
  rounded.saturating_pairs = saturating_pairs(graph, ground_.target(), rounded.layer);
  return rounded;
}

StaticModels::Rounded StaticModels::rounded(NodeId node, const WeightPorts& ports) {
  if (keep_ == Keep::kNothing) return round(node, ports);
  const auto key = std::pair(node, ports.input);
  auto found = rounded_.find(key);
  if (found == rounded_.end()) found = rounded_.emplace(key, round(node, ports)).first;
  const Rounded& known = found->second;
  return {copy_of(known.layer), known.by_nearest, known.saturating_pairs};
}

QuantizeReport StaticModels::report_of_ground() const {
  const Graph& graph = ground_.graph();
  QuantizeReport report;
  report.target = options_.target;
  report.rewrites = ground_.reports();
  report.nodes = report_nodes(graph, ground_.placement());
  report.tuned_ranges = ground_.tuned_ranges();
  report.residuals = ground_.placement().residuals;
  report.functions = std::ssize(ground_.placement().functions);
  report.inner_functions = std::ssize(ground_.placement().inner_functions);
  report.unequal_concats = ground_.activations().unequal;
  report.non_finite = non_finite_weights(graph);
  report.missing_ranges = ground_.missing_ranges();
  for (const WideTensor& wide : ground_.placement().wide) {
    report.wide.push_back(graph.value(wide.tensor).name);
  }
  for (const ValueId tensor : ground_.placement().not_wide) {
    report.not_wide.push_back(graph.value(tensor).name);
  }
  return report;
}

Quantized StaticModels::with(const BiasShifts& measured) {
  const StopScope scope(options_.stop);
  const Graph& graph = ground_.graph();
  if (!report_) report_ = report_of_ground();
  Quantized quantized;
  QuantizeReport& report = quantized.report;
  report = *report_;
  const BiasShift shift = bias_shift(graph, table_, options_.bias_correction, measured);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    check_stop_inside();  // the scales of a large layer may take seconds
    Rounded rounded = this->rounded(node, ports);
    if (rounded.by_nearest) report.nearest_layers.emplace_back(name_of(graph, node));
    report.saturating_pairs += rounded.saturating_pairs;
    StagedLayer staged{std::move(rounded.layer), false};
    staged.corrected = correct_bias(graph, ground_.target(), shift, staged.layer, report);
    return staged;
  };
  quantized.graph = emit_static(
      options_.form, {graph, ground_.placement(), ground_.target(), ground_.activations(), stages},
      report);
  add_metadata(table_, options_, quantized.graph);
  if (ground_.target().weight_pairs == WeightPairs::kLimited) {
    quantized.graph.info.metadata[std::string(kPairsKey)] =
        to_text(std::int64_t{pair_limit_of(ground_.target())});
  }
  if (!report.wide.empty()) {
    quantized.graph.info.metadata[std::string(kWideKey)] = to_text(std::ssize(report.wide));
  }
  if (report.tuned_ranges > 0) {
    quantized.graph.info.metadata[std::string(kTunedKey)] = to_text(report.tuned_ranges);
  }
  add_provenance(prepared_, options_, ground_.rewrites().names, quantized.graph);
  if (!ground_.rewrites().names.empty()) {
    quantized.graph.info.metadata[std::string(kScaledChannelsKey)] = to_json_text(ground_.scaled());
  }
  return quantized;
}

}  // namespace qtool
