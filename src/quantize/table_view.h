#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"
#include "quantize/maps.h"
#include "quantize/weights.h"

namespace qtool {

/// What the table says, as the stages of quantization ask for it.
class TableView {
 public:
  /// `target` is what `options` make of the table's.
  TableView(const Graph& graph, const CalibrationTable& table, const StaticOptions& options,
            const Target& target);

  [[nodiscard]] bool has_range(std::string_view tensor) const;
  [[nodiscard]] CalibratedMap map(std::string_view tensor) const;
  /// Means per channel of an activation; empty when they are not known.
  [[nodiscard]] std::span<const float> channel_means(ValueId activation) const;
  /// The maps that the table holds for the weight of a node, if they are of the method and types
  /// wanted. Throws Error(kInvalidTable) when they do not fit the weight.
  [[nodiscard]] std::optional<WeightMaps> weight_maps(const WeightPorts& ports, NodeId node) const;

 private:
  [[nodiscard]] const ActivationEntry* find(std::string_view tensor) const;
  [[nodiscard]] bool is_map_of_target(const ActivationEntry& entry) const;
  void require_fitting(const WeightEntry& entry, const WeightPorts& ports, NodeId node) const;

  const Graph& graph_;
  const CalibrationTable& table_;
  const Target& target_;
  std::unordered_map<std::string_view, const ActivationEntry*> activations_;  // as table.find()
  std::unordered_map<std::string_view, std::vector<const WeightEntry*>> weights_;
  bool weights_apply_ = true;  ///< the table's scales are by the method and for the types wanted
};

}  // namespace qtool
