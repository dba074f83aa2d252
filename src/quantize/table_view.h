#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

/// Range, scale and zero point of an activation, from calibration.
struct CalibratedTensor {
  Range range;
  Affine affine;
};

/// The interface through which the stages of quantization read a calibration table.
class TableView {
 public:
  /// `target` has the requested types. They may differ from the types of the table. All arguments
  /// must outlive this object.
  TableView(const Graph& graph, const CalibrationTable& table, const Target& target);

  [[nodiscard]] bool has_range(std::string_view tensor) const;
  /// The range, scale and zero point of a tensor that has a range. If the table has them for other
  /// integers than those of the target, the scale and zero point are computed from the range.
  [[nodiscard]] CalibratedTensor activation(std::string_view tensor) const;
  /// Means per channel of an activation; empty when they are not known.
  [[nodiscard]] std::span<const float> channel_means(ValueId activation) const;
  /// Scales and zero points that the table holds for the weight of a node. Nothing if they were
  /// made by another weight method, or for other types, than those of the target. Throws
  /// Error(kInvalidTable) when they do not fit the weight.
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
  bool weights_apply_ = true;  ///< whether the table's weight scales are for the target's types
};

}  // namespace qtool
