// The checks of a calibration table against the model that it is used with.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"
#include "quantize/table_view.h"

namespace qtool {
namespace {

constexpr std::string_view kInnerTensor = "(Unnamed Layer*";
/// Part of the names of ncnn's rows for weights that are not a single tensor in ONNX (attention,
/// RNN).
constexpr std::string_view kParameterRow = "_param_";

bool is_known(std::string_view name, const Graph& loaded, const Graph& prepared) {
  return loaded.find_value(name).has_value() || prepared.find_value(name).has_value() ||
         prepared.info.aliases.contains(std::string(name));
}

[[noreturn]] void refuse(std::string_view kind, std::string_view name, const Graph& graph) {
  std::vector<std::string> candidates;
  for (const ValueId id : graph.living_values()) candidates.push_back(graph.value(id).name);
  throw Error(ErrorCode::kMismatch,
              to_text("the table's ", kind, " '", name, "' is not a tensor of the model",
                      did_you_mean(name, candidates)));
}

}  // namespace

void require_known_tensors(const CalibrationTable& table, const Graph& loaded,
                           const Graph& prepared) {
  for (const ActivationEntry& entry : table.activations) {
    if (entry.tensor.starts_with(kInnerTensor)) continue;
    if (!is_known(entry.tensor, loaded, prepared)) refuse("activation", entry.tensor, loaded);
  }
  for (const WeightEntry& entry : table.weights) {
    if (entry.tensor.find(kParameterRow) != std::string::npos) continue;
    if (!is_known(entry.tensor, loaded, prepared)) refuse("weight", entry.tensor, loaded);
  }
}

void TableView::require_fitting(const WeightEntry& entry, const WeightPorts& ports,
                                NodeId node) const {
  const bool per_channel =
      target_.granularity_of(graph_.node(node).op_type) == Granularity::kPerChannel;
  const std::int64_t expected = per_channel ? ports.channels : 1;
  if (static_cast<std::int64_t>(entry.affines.scales.size()) != expected ||
      (per_channel && entry.affines.axis != ports.axis)) {
    throw Error(ErrorCode::kInvalidTable,
                to_text("weight '", entry.tensor, "': found ", entry.affines.scales.size(),
                        " scales along axis ", entry.affines.axis, ", expected ", expected,
                        per_channel ? to_text(" along axis ", ports.axis) : std::string()));
  }
  const Scheme scheme = weight_scheme(graph_, node, target_);
  if (entry.bits != scheme.bits) {
    throw Error(ErrorCode::kInvalidTable,
                to_text("weight '", entry.tensor, "': its scales are for ", entry.bits,
                        " bits, expected ", scheme.bits));
  }
  if (!entry.affines.zero_points.empty() && scheme.symmetry == Symmetry::kSymmetric) {
    throw Error(ErrorCode::kInvalidTable,
                to_text("weight '", entry.tensor,
                        "': found zero points, expected none for symmetric weights"));
  }
  for (const float scale : entry.affines.scales) {
    if (!std::isfinite(scale) || scale < 0.0F) {
      throw Error(ErrorCode::kInvalidTable, to_text("weight '", entry.tensor, "': scale ", scale,
                                                    " is not a finite number above 0"));
    }
  }
}

}  // namespace qtool
