#include "qtool/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "qtool/base/error.h"
#include "qtool/base/hash.h"
#include "qtool/base/text.h"
#include "qtool/calib/format.h"
#include "qtool/calib/preprocess_json.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/weights.h"
#include "quantize/emit.h"

namespace qtool {
namespace {

constexpr std::int64_t kLeastOpset = 13;  // per-channel DequantizeLinear

void require_float_graph(const Graph& graph) {
  const auto opset = graph.info.opsets.find("");
  if (opset == graph.info.opsets.end() || opset->second < kLeastOpset) {
    throw Error(ErrorCode::kUnsupported,
                concat("quantizing needs a graph of opset ", kLeastOpset, " or later, found ",
                       opset == graph.info.opsets.end() ? 0 : opset->second));
  }
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).is("QuantizeLinear")) {
      throw Error(ErrorCode::kUnsupported,
                  concat(graph.describe(id), ": the model is quantized already"));
    }
  }
}

void require_same_model(const Graph& graph, const CalibrationTable& table,
                        const QuantizeOptions& options) {
  const std::uint64_t expected =
      options.model_fingerprint ? *options.model_fingerprint : fingerprint(graph);
  // Tables of other tools do not know their model; their names are all there is to check.
  if (table.model_fingerprint == expected || table.model_fingerprint == 0) return;
  throw Error(ErrorCode::kMismatch,
              concat("the calibration table belongs to another model: it has fingerprint ",
                     to_hex(table.model_fingerprint), ", the model ", to_hex(expected)));
}

/// What the table says, as the steps of quantization ask for it.
class TableView {
 public:
  TableView(const Graph& graph, const CalibrationTable& table, const Target& target)
      : graph_(graph), table_(table), target_(target) {}

  [[nodiscard]] bool has_range(std::string_view tensor) const {
    return table_.find(tensor) != nullptr;
  }

  [[nodiscard]] CalibratedMap map(std::string_view tensor) const {
    const ActivationEntry* entry = table_.find(tensor);
    QTOOL_CHECK(entry != nullptr);
    const bool centred = target_.activations.symmetry == Symmetry::kAsymmetric ||
                         target_.activations.dtype == DType::kUInt8 ||
                         entry->affine.zero_point == 0;
    if (entry->dtype == target_.activations.dtype && centred) return {entry->range, entry->affine};
    return {entry->range, choose_affine(entry->range, target_.activations)};
  }

  [[nodiscard]] std::span<const float> channel_means(ValueId activation) const {
    const ActivationEntry* entry = table_.find(graph_.value(activation).name);
    return entry == nullptr ? std::span<const float>() : entry->observed.channel_means;
  }

  [[nodiscard]] std::vector<float> weight_scales(const WeightPorts& ports, NodeId node) const {
    const std::string& weight = graph_.value(ports.weight).name;
    const std::string_view consumer = name_of(graph_, node);
    for (const WeightEntry& entry : table_.weights) {
      // Some tools say the weight only, and that means every node that reads it.
      if (entry.tensor != weight) continue;
      if (!entry.consumer.empty() && entry.consumer != consumer) continue;
      if (entry.axis < 0 && entry.scales.size() == 1 &&
          target_.weight_granularity == Granularity::kPerChannel) {
        return std::vector<float>(static_cast<std::size_t>(ports.channels), entry.scales[0]);
      }
      require_fitting(entry, ports);
      return entry.scales;
    }
    return {};
  }

 private:
  void require_fitting(const WeightEntry& entry, const WeightPorts& ports) const {
    const bool per_channel = target_.weight_granularity == Granularity::kPerChannel;
    const std::int64_t expected = per_channel ? ports.channels : 1;
    if (static_cast<std::int64_t>(entry.scales.size()) != expected ||
        (per_channel && entry.axis != ports.axis)) {
      throw Error(ErrorCode::kInvalidTable,
                  concat("weight '", entry.tensor, "': found ", entry.scales.size(),
                         " scales along axis ", entry.axis, ", expected ", expected,
                         per_channel ? concat(" along axis ", ports.axis) : std::string()));
    }
    for (const float scale : entry.scales) {
      if (!std::isfinite(scale) || scale < 0.0F) {
        throw Error(ErrorCode::kInvalidTable, concat("weight '", entry.tensor, "': scale ", scale,
                                                     " is not a finite number above 0"));
      }
    }
  }

  const Graph& graph_;
  const CalibrationTable& table_;
  const Target& target_;
};

struct Decision {
  Placement placement;
  ChosenMaps maps;
};

Decision decide_all(const Graph& graph, const Target& target, const TableView& view,
                    const std::vector<std::string>& exclude) {
  PlacementOptions options;
  options.exclude = exclude;
  options.has_range = [&](std::string_view tensor) { return view.has_range(tensor); };
  Decision decision;
  decision.placement = place(graph, target, options);
  decision.maps = choose_maps(graph, decision.placement, target,
                              [&](std::string_view tensor) { return view.map(tensor); });
  return decision;
}

void add_metadata(Graph& graph, const CalibrationTable& table, const QuantizeOptions& options) {
  auto& metadata = graph.info.metadata;
  // Tables of other tools do not say how pictures are prepared; the model may.
  if (has_provenance(table)) metadata["qtool.preprocess"] = to_json_text(table.preprocess);
  metadata["qtool.method"] = table.method;
  metadata["qtool.table_hash"] = to_hex(hash_bytes(write_table(table)));
  metadata["qtool.target"] = options.target;
  if (!options.version.empty()) metadata["qtool.version"] = options.version;
}

}  // namespace

const NodeReport* QuantizeReport::find(std::string_view node) const noexcept {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeReport& report) { return report.node == node; });
  return found == nodes.end() ? nullptr : &*found;
}

Graph quantize(const Graph& prepared, const CalibrationTable& table, const QuantizeOptions& options,
               QuantizeReport& report) {
  const Target& target = find_target(options.target);
  require_float_graph(prepared);
  require_same_model(prepared, table, options);
  const TableView view(prepared, table, target);
  Decision decision = decide_all(prepared, target, view, options.exclude);

  report = {};
  report.target = options.target;
  for (const NodePlacement& placed : decision.placement.nodes) {
    report.nodes.push_back({std::string(name_of(prepared, placed.id)),
                            prepared.node(placed.id).op_type, placed.role, placed.reason});
  }
  report.unequal_concats = decision.maps.unequal;
  Graph quantized = emit_qdq(
      prepared, decision.placement, target, decision.maps,
      [&](const WeightPorts& ports, NodeId node) { return view.weight_scales(ports, node); },
      options.bias_correction == BiasCorrection::kOff
          ? ChannelMeans()
          : [&](ValueId activation) { return view.channel_means(activation); },
      report);
  add_metadata(quantized, table, options);
  return quantized;
}

void fill_weight_entries(const Graph& prepared, const QuantizeOptions& options,
                         CalibrationTable& table) {
  const Target& target = find_target(options.target);
  const TableView view(prepared, table, target);
  const Decision decision = decide_all(prepared, target, view, options.exclude);
  std::vector<WeightEntry> entries;
  for (const NodePlacement& placed : decision.placement.nodes) {
    if (placed.role != NodeRole::kInteger) continue;
    const auto ports = weight_ports(prepared, placed.id);
    if (!ports) continue;
    const ValueId input = prepared.node(placed.id).inputs[0];
    const float input_scale = decision.maps.by_value[static_cast<std::size_t>(input)]->scale;
    WeightEntry entry;
    entry.tensor = prepared.value(ports->weight).name;
    entry.consumer = name_of(prepared, placed.id);
    entry.axis = target.weight_granularity == Granularity::kPerChannel ? ports->axis : -1;
    entry.scales = choose_weight_scales(
        prepared, placed.id, *ports, target, input_scale,
        [&](const WeightPorts& p, NodeId node) { return view.weight_scales(p, node); });
    entries.push_back(std::move(entry));
  }
  for (WeightEntry& earlier : table.weights) {
    const bool known = std::any_of(entries.begin(), entries.end(), [&](const WeightEntry& entry) {
      return entry.tensor == earlier.tensor && entry.consumer == earlier.consumer;
    });
    if (!known) entries.push_back(std::move(earlier));
  }
  table.weights = std::move(entries);
}

}  // namespace qtool
