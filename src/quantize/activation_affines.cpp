#include "quantize/activation_affines.h"

#include <algorithm>
#include <map>
#include <set>

#include "quantize/disjoint_sets.h"
#include "quantize/placement/operands.h"
#include "quantize/rewrites/channel_noise.h"

namespace qtool {
namespace {

Range common_range(const Range& a, const Range& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// Groups of tensors that share one affine map, merged step by step.
class Groups {
 public:
  Groups(const Graph& graph, const Target& target, const TableView& table)
      : graph_(graph),
        target_(target),
        table_(table),
        sets_(graph.value_limit()),
        group_(graph.value_limit()) {}

  /// Union of the ranges of a tensor's group.
  Range range(ValueId id) { return group(id).range; }
  /// Width of the narrowest range of the group. Tensors that are all zero do not count, because
  /// they fit any affine map.
  double narrowest(ValueId id) { return group(id).narrowest; }
  Affine affine(ValueId id) { return group(id).affine; }
  ValueId representative(ValueId id) { return static_cast<ValueId>(sets_.root(index_of(id))); }

  void merge(ValueId a, ValueId b) {
    const ValueId to = representative(a);
    const ValueId from = representative(b);
    if (to == from) return;
    Group merged = group(a);
    const Group& other = group(b);
    const bool equal = merged.affine == other.affine;
    const Range common = common_range(merged.range, other.range);
    // If one of the two maps already covers both ranges, it is kept exactly.
    if (common == other.range && !equal) merged.affine = other.affine;
    if (common != merged.range && common != other.range && !equal) {
      merged.affine = choose_affine(common, target_.activations);
    }
    merged.range = common;
    merged.narrowest = std::min(merged.narrowest, other.narrowest);
    sets_.join(index_of(to), index_of(from));
    group_[to] = merged;
  }

  /// Adds a tensor to the group of `into`, whose range and affine map stay as they are.
  void adopt(ValueId into, ValueId id) {
    const Group keep = group(into);
    sets_.join(index_of(into), index_of(id));
    group_[representative(into)] = keep;
  }

 private:
  struct Group {
    Range range;
    double narrowest = 0.0;
    Affine affine;
  };

  Group& group(ValueId id) {
    const ValueId r = representative(id);
    if (!group_[r]) {
      const Value& value = graph_.value(r);
      Group fresh;
      if (value.constant != nullptr) {
        fresh.range = range_of(*value.constant);
        fresh.affine = choose_affine(fresh.range, target_.activations);
      } else {
        const CalibratedTensor calibrated = table_.activation(value.name);
        fresh.range = calibrated.range;
        fresh.affine = calibrated.affine;
      }
      const double w = width(fresh.range);
      fresh.narrowest = w > 0 ? w : std::numeric_limits<double>::infinity();
      group_[r] = fresh;
    }
    return *group_[r];
  }

  const Graph& graph_;
  const Target& target_;
  const TableView& table_;
  DisjointSets sets_;
  IdMap<ValueId, std::optional<Group>> group_;  // of representatives
};

}  // namespace

Range range_of(const Tensor& tensor) {
  Range range;
  for (const float v : tensor.values<float>()) {
    range.min = std::min(range.min, v);
    range.max = std::max(range.max, v);
  }
  return range;
}

ActivationAffines choose_activation_affines(const Graph& graph, const Placement& placement,
                                            const Target& target, const TableView& table) {
  Groups groups(graph, target, table);
  const auto source = [&](ValueId id) { return placement.source[id]; };
  struct Kept {
    NodeId id;
    double share;
  };
  std::vector<Kept> kept;
  std::vector<ValueId> aligned_constants;
  for (const NodePlacement& placed : placement.nodes) {
    const Node& node = graph.node(placed.id);
    if (placed.role != NodeRole::kInteger || !node.is("Concat")) continue;
    Range common;
    double narrowest = std::numeric_limits<double>::infinity();
    for (const ValueId input : node.inputs) {
      common = common_range(common, groups.range(source(input)));
      narrowest = std::min(narrowest, groups.narrowest(source(input)));
    }
    const double share = width(common) > 0 ? narrowest / width(common) : 1.0;
    if (share < target.concat_min_share) {
      kept.push_back({placed.id, share});
      continue;
    }
    const ValueId first = source(node.inputs[0]);
    for (const ValueId input : node.inputs) {
      groups.merge(first, source(input));
      if (graph.is_constant(input)) aligned_constants.push_back(input);
    }
    groups.adopt(first, source(node.outputs[0]));
  }

  // The input and the result of same_affine_ops get one map that covers both ranges. The range of
  // the result can exceed that of the input only where the table cut off values of the input. A
  // result that stays in FP32 has no range to cover.
  std::set<ValueId> mapped;
  for (const ValueId id : placement.quantized) mapped.insert(source(id));
  std::map<ValueId, Affine> fixed;
  for (const NodePlacement& placed : placement.nodes) {
    const Node& node = graph.node(placed.id);
    if (placed.role != NodeRole::kInteger || !node.domain.empty()) continue;
    const auto& ops = target.same_affine_ops;
    if (std::find(ops.begin(), ops.end(), node.op_type) != ops.end() &&
        mapped.contains(source(node.outputs[0]))) {
      groups.merge(source(node.inputs[0]), source(node.outputs[0]));
    }
    if (const Affine* prescribed = target.fixed_result(node.op_type)) {
      fixed[source(node.outputs[0])] = *prescribed;
    }
  }

  ActivationAffines chosen;
  chosen.by_value.resize(graph.value_limit());
  chosen.group.resize(graph.value_limit(), kNoValue);
  for (const ValueId id : placement.quantized) {
    const auto prescribed = fixed.find(source(id));
    chosen.by_value[id] =
        prescribed == fixed.end() ? groups.affine(source(id)) : prescribed->second;
    chosen.group[id] = groups.representative(source(id));
  }
  for (const ValueId id : aligned_constants) chosen.by_value[id] = groups.affine(id);
  for (const Kept& concat_node : kept) {
    UnequalConcat report;
    report.node = name_of(graph, concat_node.id);
    report.smallest_share = concat_node.share;
    for (const ValueId input : graph.node(concat_node.id).inputs) {
      report.operands.push_back(graph.value(input).name);
      report.scales.push_back(groups.affine(source(input)).scale);
    }
    chosen.unequal.push_back(std::move(report));
  }
  return chosen;
}

}  // namespace qtool
