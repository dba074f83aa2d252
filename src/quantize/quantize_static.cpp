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
#include "quantize/groundwork.h"
#include "quantize/operands.h"
#include "quantize/placement.h"
#include "quantize/provenance.h"
#include "quantize/rounding.h"
#include "quantize/table_view.h"
#include "quantize/weights.h"
#include "quantize/wide_tensors.h"

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

void add_metadata(const CalibrationTable& table, Graph& graph) {
  auto& metadata = graph.info.metadata;
  // Tables of other tools do not say how images are prepared; the model may.
  if (has_provenance(table) && table.preprocess) {
    metadata[std::string(kPreprocessKey)] = to_json_text(*table.preprocess);
  }
  metadata["qtool.method"] = table.method;
  metadata["qtool.table_hash"] = to_hex(hash_bytes(write_table(table)));
}

}  // namespace

Quantized quantize(const Graph& prepared, const CalibrationTable& table,
                   const StaticOptions& options) {
  const RoundingInfo& rounding = rounding_of(options);
  require_float_graph(prepared);
  require_same_model(prepared, table, options);
  const Groundwork ground = lay_groundwork(prepared, table, options);
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
  const BiasShift shift = bias_shift(graph, options);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    StagedLayer staged{ground.scaled_layer(node, ports, options.threads), false};
    round_weights(graph, rounding, options.rounded, staged.layer, report);
    staged.corrected = correct_bias(graph, ground.target(), shift, staged.layer, report);
    return staged;
  };
  quantized.graph =
      emit_static(graph, ground.placement(), ground.target(), ground.activations(), stages, report);
  widen_tensors(ground, options.wide, quantized.graph, report);
  add_metadata(table, quantized.graph);
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

void fill_weight_entries(const Graph& prepared, const StaticOptions& options,
                         CalibrationTable& table) {
  const Groundwork ground = lay_groundwork(prepared, table, options);
  std::vector<WeightEntry> entries = weight_entries(ground, options.threads);
  const auto key_of = [](const WeightEntry& entry) {
    return std::pair(entry.tensor, entry.consumer);
  };
  std::set<std::pair<std::string, std::string>> known;
  for (const WeightEntry& entry : entries) known.insert(key_of(entry));
  for (WeightEntry& earlier : table.weights) {
    if (known.insert(key_of(earlier)).second) entries.push_back(std::move(earlier));
  }
  table.rewrites = ground.rewrites();
  table.weights = std::move(entries);
}

}  // namespace qtool
