#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_name.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"

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
                      nearest_text(name, candidates)));
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

}  // namespace qtool
