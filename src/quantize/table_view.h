#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"
#include "quantize/weights/weights.h"

namespace qtool {

/// Range, scale and zero point of an activation, from calibration.
struct CalibratedTensor {
  Range range;
  Affine affine;
};

/// What the table says, as the stages of quantization ask for it.
class TableView {
 public:
  /// `target`: with the types that are wanted, which may be others than the table's. All arguments
  /// must live as long.
  TableView(const Graph& graph, const CalibrationTable& table, const Target& target);

  [[nodiscard]] bool has_range(std::string_view tensor) const;
  /// Of a tensor that has a range. Made anew when the table's integers are not the target's.
  [[nodiscard]] CalibratedTensor activation(std::string_view tensor) const;
  /// Means per channel of an activation; empty when they are not known.
  [[nodiscard]] std::span<const float> channel_means(ValueId activation) const;
  /// Scales and zero points that the table holds for the weight of a node, if they are by the
  /// method and for the types of the target. Throws Error(kInvalidTable) when they do not fit the
  /// weight.
  [[nodiscard]] std::optional<Affines> weight_affines(const WeightPorts& ports, NodeId node) const;

 private:
  [[nodiscard]] const ActivationEntry* find(std::string_view tensor) const;
  [[nodiscard]] bool is_of_target(const ActivationEntry& entry) const;
  void require_fitting(const WeightEntry& entry, const WeightPorts& ports, NodeId node) const;

  const Graph& graph_;
  const CalibrationTable& table_;
  const Target& target_;
  std::unordered_map<std::string_view, const ActivationEntry*> activations_;  // by name and alias
  std::unordered_map<std::string_view, std::vector<const WeightEntry*>> weights_;
  bool weights_apply_ = true;  ///< the table's scales of weights are for the target's types
};

}  // namespace qtool
