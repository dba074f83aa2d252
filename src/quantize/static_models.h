#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/groundwork.h"
#include "quantize/layer.h"

namespace qtool {

/// Makes static models of one network that differ in the measured bias shifts alone; see
/// quantize(), which makes one.
class StaticModels {
 public:
  /// What is kept from one model to the next.
  enum class Keep : std::uint8_t {
    kNothing,
    kLayers,  ///< the layers with their integers, so that they are rounded once only
  };

  /// All arguments must outlive the object. The bias shifts of `learned` are not used. Throws as
  /// quantize() does.
  StaticModels(const Graph& prepared, const CalibrationTable& table, const StaticOptions& options,
               const Learned& learned, Keep keep);

  /// The model with these shifts, for BiasCorrection::kSequential. Throws as quantize() does. Cost:
  /// that of quantize(); for later models with Keep::kLayers a few passes over the weights.
  Quantized with(const BiasShifts& measured);
  [[nodiscard]] const Groundwork& ground() const noexcept { return ground_; }

 private:
  /// A layer after round_weights(), and what that adds to the report.
  struct Rounded {
    Layer layer;
    bool by_nearest = false;  ///< although the rounding needs images
    std::int64_t saturating_pairs = 0;
  };
  /// What the report of every model says, whatever the bias shifts.
  [[nodiscard]] QuantizeReport report_of_ground() const;
  [[nodiscard]] Rounded round(NodeId node, const WeightPorts& ports) const;
  [[nodiscard]] Rounded rounded(NodeId node, const WeightPorts& ports);

  const Graph& prepared_;
  const CalibrationTable& table_;
  const StaticOptions& options_;
  const Learned& learned_;
  Keep keep_;
  Groundwork ground_;
  std::optional<QuantizeReport> report_;                       // see report_of_ground()
  std::map<std::pair<NodeId, std::size_t>, Rounded> rounded_;  // by node and input
};

}  // namespace qtool
