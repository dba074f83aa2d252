#include "qtool/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "qtool/base/error.h"
#include "qtool/base/hash.h"
#include "qtool/base/text.h"
#include "qtool/calib/format.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess_json.h"
#include "qtool/quantize/weights.h"
#include "quantize/bias_correction.h"
#include "quantize/emit.h"
#include "quantize/operands.h"
#include "quantize/provenance.h"

namespace qtool {
namespace {

constexpr std::int64_t kMinOpset = 13;  // per-channel DequantizeLinear

}  // namespace

void require_float_graph(const Graph& graph) {
  const auto opset = graph.info.opsets.find("");
  if (opset == graph.info.opsets.end() || opset->second < kMinOpset) {
    throw Error(ErrorCode::kUnsupported,
                concat("quantizing needs a graph of opset ", kMinOpset, " or later, found ",
                       opset == graph.info.opsets.end() ? 0 : opset->second));
  }
  if (const std::optional<NodeId> id = quantized_node(graph)) {
    throw Error(ErrorCode::kUnsupported,
                concat(graph.describe(*id), ": the model is quantized already"));
  }
}

// Domains of other tools have operators of these names too.
std::optional<NodeId> quantized_node(const Graph& graph) {
  constexpr std::array<std::string_view, 4> kNames = {"QuantizeLinear", "DequantizeLinear",
                                                      "ConvInteger", "MatMulInteger"};
  const auto is_quantized = [&](NodeId id) {
    const std::string& op = graph.node(id).op_type;
    return std::find(kNames.begin(), kNames.end(), op) != kNames.end() ||
           op.starts_with("QLinear") || op.starts_with("DynamicQuantize");
  };
  const auto& nodes = graph.nodes();
  const auto found = std::find_if(nodes.begin(), nodes.end(), is_quantized);
  return found == nodes.end() ? std::nullopt : std::optional(*found);
}

bool has_fixed_scales(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const std::string& op = graph.node(id).op_type;
    return op == "QuantizeLinear" || op.starts_with("QLinear");
  });
}

namespace {

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
  /// `target` is what `options` make of the table's.
  TableView(const Graph& graph, const CalibrationTable& table, const QuantizeOptions& options,
            const Target& target)
      : graph_(graph), table_(table), target_(target) {
    const Target stored = with_choices(find_target(options.target), table.types);
    weights_apply_ = stored.weight_method == target.weight_method &&
                     stored.weights == target.weights &&
                     stored.weight_granularity == target.weight_granularity &&
                     stored.winograd_bits == target.winograd_bits;
    for (const ActivationEntry& entry : table.activations) {
      activations_.emplace(entry.tensor, &entry);
    }
    // An alias may stand for the name in a later one.
    for (auto alias = table.aliases.rbegin(); alias != table.aliases.rend(); ++alias) {
      activations_.insert_or_assign(alias->name, find(alias->tensor));
    }
    for (const WeightEntry& entry : table.weights) weights_[entry.tensor].push_back(&entry);
  }

  [[nodiscard]] bool has_range(std::string_view tensor) const { return find(tensor) != nullptr; }

  [[nodiscard]] CalibratedMap map(std::string_view tensor) const {
    const ActivationEntry* entry = find(tensor);
    QTOOL_CHECK(entry != nullptr);
    if (is_map_of_target(*entry)) return {entry->range, entry->affine};
    return {entry->range, choose_affine(entry->range, target_.activations)};
  }

  [[nodiscard]] std::span<const float> channel_means(ValueId activation) const {
    const ActivationEntry* entry = find(graph_.value(activation).name);
    return entry == nullptr ? std::span<const float>() : entry->observed.channel_means;
  }

  [[nodiscard]] std::optional<WeightMaps> weight_maps(const WeightPorts& ports, NodeId node) const {
    if (!weights_apply_) return std::nullopt;
    const auto known = weights_.find(graph_.value(ports.weight).name);
    if (known == weights_.end()) return std::nullopt;
    const std::string_view consumer = name_of(graph_, node);
    for (const WeightEntry* candidate : known->second) {
      const WeightEntry& entry = *candidate;
      // Some tools name the weight only, and mean every node that reads it.
      if (!entry.consumer.empty() && entry.consumer != consumer) continue;
      if (entry.axis < 0 && entry.scales.size() == 1 && entry.zero_points.empty() &&
          target_.weight_granularity == Granularity::kPerChannel) {
        WeightEntry spread = entry;
        spread.axis = ports.axis;
        spread.scales.assign(static_cast<std::size_t>(ports.channels), entry.scales[0]);
        require_fitting(spread, ports, node);
        return WeightMaps{spread.scales, {}};
      }
      require_fitting(entry, ports, node);
      return WeightMaps{entry.scales, entry.zero_points};
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const ActivationEntry* find(std::string_view tensor) const {
    const auto found = activations_.find(tensor);
    return found == activations_.end() ? nullptr : found->second;
  }

  [[nodiscard]] bool is_map_of_target(const ActivationEntry& entry) const {
    const Scheme& scheme = target_.activations;
    if (entry.dtype != scheme.dtype || table_.method_options.scheme.bits != scheme.bits) {
      return false;
    }
    return scheme.symmetry == Symmetry::kAsymmetric ||
           entry.affine.zero_point == choose_affine(Range(), scheme).zero_point;
  }

  void require_fitting(const WeightEntry& entry, const WeightPorts& ports, NodeId node) const {
    const bool per_channel = target_.weight_granularity == Granularity::kPerChannel;
    const std::int64_t expected = per_channel ? ports.channels : 1;
    if (static_cast<std::int64_t>(entry.scales.size()) != expected ||
        (per_channel && entry.axis != ports.axis)) {
      throw Error(ErrorCode::kInvalidTable,
                  concat("weight '", entry.tensor, "': found ", entry.scales.size(),
                         " scales along axis ", entry.axis, ", expected ", expected,
                         per_channel ? concat(" along axis ", ports.axis) : std::string()));
    }
    const Scheme scheme = weight_scheme(graph_, node, target_);
    if (entry.bits != scheme.bits) {
      throw Error(ErrorCode::kInvalidTable,
                  concat("weight '", entry.tensor, "': its scales are for ", entry.bits,
                         " bits, expected ", scheme.bits));
    }
    if (!entry.zero_points.empty() && scheme.symmetry == Symmetry::kSymmetric) {
      throw Error(ErrorCode::kInvalidTable,
                  concat("weight '", entry.tensor,
                         "': found zero points, expected none for symmetric weights"));
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
  std::unordered_map<std::string_view, const ActivationEntry*> activations_;  // as table.find()
  std::unordered_map<std::string_view, std::vector<const WeightEntry*>> weights_;
  bool weights_apply_ = true;  ///< the table's scales are by the method and for the types wanted
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

std::vector<std::string> missing_ranges(const Graph& graph, const Target& target,
                                        const TableView& view,
                                        const std::vector<std::string>& exclude) {
  PlacementOptions any_table;
  any_table.exclude = exclude;
  const Placement ideal = place(graph, target, any_table);
  std::vector<std::string> missing;
  for (const ValueId id : ideal.quantized) {
    // What passing nodes write shares the range of what they read.
    if (ideal.source[static_cast<std::size_t>(id)] != id) continue;
    const std::string& name = graph.value(id).name;
    if (!view.has_range(name)) missing.push_back(name);
  }
  return missing;
}

BiasShift bias_shift(const Graph& graph, const TableView& view, const QuantizeOptions& options) {
  if (options.bias_correction == BiasCorrection::kTable) {
    return [&](const QuantizedLayer& layer) {
      return weight_bias_shift(graph, layer.node, layer.ports, layer.real, layer.integers,
                               layer.maps, view.channel_means(layer.activation));
    };
  }
  if (options.bias_correction == BiasCorrection::kSequential) {
    return [&](const QuantizedLayer& layer) {
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
  // Tables of other tools do not say how pictures are prepared; the model may.
  if (has_provenance(table)) metadata[std::string(kPreprocessKey)] = to_json_text(table.preprocess);
  metadata["qtool.method"] = table.method;
  metadata["qtool.table_hash"] = to_hex(hash_bytes(write_table(table)));
}

}  // namespace

const NodeReport* QuantizeReport::find(std::string_view node) const noexcept {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeReport& report) { return report.node == node; });
  return found == nodes.end() ? nullptr : &*found;
}

Target chosen_target(const CalibrationTable& table, const QuantizeOptions& options) {
  return with_choices(with_choices(find_target(options.target), table.types), options.types);
}

Graph quantize(const Graph& prepared, const CalibrationTable& table, const QuantizeOptions& options,
               QuantizeReport& report) {
  const Target target = chosen_target(table, options);
  require_float_graph(prepared);
  require_same_model(prepared, table, options);
  const TableView view(prepared, table, options, target);
  Decision decision = decide_all(prepared, target, view, options.exclude);

  report = {};
  report.target = options.target;
  for (const NodePlacement& placed : decision.placement.nodes) {
    report.nodes.push_back({std::string(name_of(prepared, placed.id)),
                            prepared.node(placed.id).op_type, placed.role, placed.reason});
  }
  report.unequal_concats = decision.maps.unequal;
  report.non_finite = non_finite_weights(prepared);
  report.missing_ranges = missing_ranges(prepared, target, view, options.exclude);
  Graph quantized = emit_qdq(
      prepared, decision.placement, target, decision.maps,
      [&](const WeightPorts& ports, NodeId node) { return view.weight_maps(ports, node); },
      bias_shift(prepared, view, options), report, options.threads);
  add_metadata(table, quantized);
  add_provenance(prepared, options, quantized);
  return quantized;
}

void fill_weight_entries(const Graph& prepared, const QuantizeOptions& options,
                         CalibrationTable& table) {
  const Target target = chosen_target(table, options);
  const TableView view(prepared, table, options, target);
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
    entry.bits = weight_scheme(prepared, placed.id, target).bits;
    WeightMaps maps = choose_weight_maps(
        prepared, placed.id, *ports, target, input_scale,
        [&](const WeightPorts& p, NodeId node) { return view.weight_maps(p, node); },
        options.threads);
    entry.scales = std::move(maps.scales);
    entry.zero_points = std::move(maps.zero_points);
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
