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

/// The first steps of both calibrate and quantize, so that the two cannot disagree: the rewritten
/// network, its placement, its affine maps, and the first stages of its layers.
class Groundwork {
 public:
  /// `prepared` and `table` must outlive this object. `target`: see chosen_target(). `rewrites`:
  /// names, see find_rewrite(). `tuned`: see Learned::tuned_ranges. `wide`: see
  /// StaticOptions::wide. Throws Error(kUsage) for an exclusion that matches nothing or an unknown
  /// rewrite, and as place_wide_tensors().
  Groundwork(const Graph& prepared, const CalibrationTable& table, Target target,
             std::span<const std::string> exclude, std::span<const std::string> rewrites,
             const TunedRanges& tuned = {}, std::span<const std::string> wide = {});
  Groundwork(const Groundwork&) = delete;
  Groundwork& operator=(const Groundwork&) = delete;

  [[nodiscard]] const Target& target() const noexcept { return target_; }
  /// The prepared graph after the rewrites. Values and nodes of the prepared graph keep their
  /// numbers.
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// The result of each rewrite, in their order.
  [[nodiscard]] const std::vector<RewriteReport>& reports() const noexcept { return reports_; }
  /// The table after the rewrites changed its activations and the tuned ranges were set. Its list
  /// of rewrites holds those that changed anything.
  [[nodiscard]] const CalibrationTable& table() const noexcept { return table_; }
  [[nodiscard]] const Rewrites& rewrites() const noexcept { return table_.rewrites; }
  /// The tensors whose channels the rewrites divided.
  [[nodiscard]] ScaledChannels scaled() const {
    return rewritten_ ? rewritten_->scaled : ScaledChannels();
  }
  [[nodiscard]] std::int64_t tuned_ranges() const noexcept { return tuned_ranges_; }
  [[nodiscard]] const Placement& placement() const noexcept { return placement_; }
  [[nodiscard]] const ActivationAffines& activations() const noexcept { return activations_; }
  /// Tensors that would be quantized for the target, but have no range in the table.
  [[nodiscard]] std::vector<std::string> missing_ranges() const;

  /// The layer of an integer node after begin_layer() and choose_scales(). It has the scales of the
  /// table if the table has some for these weights. Throws as choose_scales() and
  /// TableView::weight_affines().
  [[nodiscard]] Layer scaled_layer(NodeId node, const WeightPorts& ports, int threads) const;

 private:
  /// Whether the weight scales of the table belong to this weight as it is after the rewrites.
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
  std::optional<Rewritten> rewritten_;     ///< nothing: no rewrite was requested
  std::optional<CalibrationTable> tuned_;  ///< nothing: no range was tuned
  const Graph& graph_;
  const CalibrationTable& table_;
  TableView view_;
  ActivationAffines activations_;
};

/// The groundwork of quantize() with these options. Throws as quantize() does.
Groundwork lay_groundwork(const Graph& prepared, const CalibrationTable& table,
                          const StaticOptions& options, const Learned& learned = {});

/// The scales of every weight that becomes integers, in the graph's order. Throws as
/// Groundwork::scaled_layer().
std::vector<WeightEntry> weight_entries(const Groundwork& ground, int threads);

}  // namespace qtool
