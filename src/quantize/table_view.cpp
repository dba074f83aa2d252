#include "quantize/table_view.h"

#include "base/check.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"

namespace qtool {

TableView::TableView(const Graph& graph, const CalibrationTable& table, const Target& target)
    : graph_(graph), table_(table), target_(target) {
  const Target stored = with_choices(find_target(target.name), table.types);
  weights_apply_ = stored.weight_method == target.weight_method &&
                   stored.weights == target.weights &&
                   stored.weight_granularity == target.weight_granularity &&
                   stored.winograd_bits == target.winograd_bits &&
                   table.types.weight_pairs.value_or(WeightPairs::kFree) == target.weight_pairs;
  for (const ActivationEntry& entry : table.activations) {
    activations_.emplace(entry.tensor, &entry);
  }
  // Starts with the last alias, because an alias may name one that comes later.
  for (auto alias = table.aliases.rbegin(); alias != table.aliases.rend(); ++alias) {
    activations_.insert_or_assign(alias->name, find(alias->tensor));
  }
  for (const WeightEntry& entry : table.weights) weights_[entry.tensor].push_back(&entry);
}

bool TableView::has_range(std::string_view tensor) const { return find(tensor) != nullptr; }

CalibratedTensor TableView::activation(std::string_view tensor) const {
  const ActivationEntry* entry = find(tensor);
  QTOOL_CHECK(entry != nullptr);
  if (is_of_target(*entry)) return {entry->range, entry->affine};
  return {entry->range, choose_affine(entry->range, target_.activations)};
}

std::span<const float> TableView::channel_means(ValueId activation) const {
  const ActivationEntry* entry = find(graph_.value(activation).name);
  return entry == nullptr ? std::span<const float>() : entry->observed.channel_means;
}

std::optional<Affines> TableView::weight_affines(const WeightPorts& ports, NodeId node) const {
  if (!weights_apply_) return std::nullopt;
  const auto known = weights_.find(graph_.value(ports.weight).name);
  if (known == weights_.end()) return std::nullopt;
  const std::string_view consumer = name_of(graph_, node);
  const bool per_channel =
      target_.granularity_of(graph_.node(node).op_type) == Granularity::kPerChannel;
  for (const WeightEntry* candidate : known->second) {
    // Some tools name only the weight. Their entry is for every node that reads it.
    if (!candidate->consumer.empty() && candidate->consumer != consumer) continue;
    WeightEntry entry = *candidate;
    Affines& affines = entry.affines;
    if (per_channel && affines.axis < 0 && affines.per_tensor() && affines.zero_points.empty()) {
      affines.axis = ports.axis;
      affines.scales.assign(static_cast<std::size_t>(ports.channels), affines.scales[0]);
    }
    require_fitting(entry, ports, node);
    affines.axis = per_channel ? ports.axis : -1;
    return std::move(affines);
  }
  return std::nullopt;
}

const ActivationEntry* TableView::find(std::string_view tensor) const {
  const auto found = activations_.find(tensor);
  return found == activations_.end() ? nullptr : found->second;
}

bool TableView::is_of_target(const ActivationEntry& entry) const {
  const Scheme& scheme = target_.activations;
  if (entry.dtype != scheme.dtype || table_.method_options.scheme.bits != scheme.bits) {
    return false;
  }
  return scheme.symmetry == Symmetry::kAsymmetric ||
         entry.affine.zero_point == choose_affine(Range(), scheme).zero_point;
}

}  // namespace qtool
