#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "quantize/activation_affines.h"
#include "quantize/layer.h"
#include "quantize/placement/placement.h"
#include "quantize/rewrites/rewrite.h"
#include "quantize/table_view.h"

namespace qtool {

/// What calibrate and quantize begin with, so that they cannot disagree: the rewritten network,
/// where it is quantized and with which affine maps, and the first stages of its layers.
class Groundwork {
 public:
  /// `prepared` and `table` must live as long. `target` as the table and then the options chose it;
  /// `rewrites`: names, see find_rewrite(); `tuned`: see StaticOptions. Throws Error(kUsage) for an
  /// exclusion that matches nothing or an unknown rewrite.
  Groundwork(const Graph& prepared, const CalibrationTable& table, Target target,
             std::span<const std::string> exclude, std::span<const std::string> rewrites,
             const TunedRanges& tuned = {});
  Groundwork(const Groundwork&) = delete;
  Groundwork& operator=(const Groundwork&) = delete;

  [[nodiscard]] const Target& target() const noexcept { return target_; }
  /// The prepared graph after the rewrites; the values and nodes of the prepared one keep their
  /// numbers.
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// What each rewrite did, in their order.
  [[nodiscard]] const std::vector<RewriteReport>& reports() const noexcept { return reports_; }
  /// The table, with what the rewrites made of its activations and then with the tuned ranges; its
  /// rewrites are those that changed anything.
  [[nodiscard]] const CalibrationTable& table() const noexcept { return table_; }
  [[nodiscard]] const Rewrites& rewrites() const noexcept { return table_.rewrites; }
  /// What the rewrites divided.
  [[nodiscard]] ScaledChannels scaled() const {
    return rewritten_ ? rewritten_->scaled : ScaledChannels();
  }
  [[nodiscard]] std::int64_t tuned_ranges() const noexcept { return tuned_ranges_; }
  [[nodiscard]] const Placement& placement() const noexcept { return placement_; }
  [[nodiscard]] const ActivationAffines& activations() const noexcept { return activations_; }
  /// Tensors that the target would have as integers and that the table has no range for.
  [[nodiscard]] std::vector<std::string> missing_ranges() const;

  /// A layer of an integer node after its first stages: begun and with scales, those of the table
  /// where it has some for these weights. Throws as choose_scales() and TableView::weight_maps().
  [[nodiscard]] Layer scaled_layer(NodeId node, const WeightPorts& ports, int threads) const;

 private:
  /// Whether the scales of the table are for the weights as they are after the rewrites.
  [[nodiscard]] bool scales_fit(ValueId weight) const;
  [[nodiscard]] Placement place_with_ranges(const Graph& graph,
                                            const CalibrationTable& table) const;
  [[nodiscard]] std::optional<Rewritten> rewrite(std::span<const std::string> rewrites);
  [[nodiscard]] std::optional<CalibrationTable> tune(const TunedRanges& ranges);

  const Graph& prepared_;
  const CalibrationTable& given_;
  Target target_;
  std::vector<std::string> exclude_;
  Placement placement_;
  std::vector<RewriteReport> reports_;
  std::int64_t tuned_ranges_ = 0;
  std::optional<Rewritten> rewritten_;     ///< nothing: no rewrite was asked for
  std::optional<CalibrationTable> tuned_;  ///< nothing: no range was tuned
  const Graph& graph_;
  const CalibrationTable& table_;
  TableView view_;
  ActivationAffines activations_;
};

/// The groundwork of quantize() with these options. Throws as it does.
Groundwork lay_groundwork(const Graph& prepared, const CalibrationTable& table,
                          const StaticOptions& options);

/// The scales of every weight that becomes integers, in the graph's order. Throws as
/// Groundwork::scaled_layer().
std::vector<WeightEntry> weight_entries(const Groundwork& ground, int threads);

}  // namespace qtool
