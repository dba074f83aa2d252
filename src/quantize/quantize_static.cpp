// Quantization with ranges, scales and zero points from a calibration table.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "qtool/quantize/quantize.h"
#include "quantize/groundwork.h"
#include "quantize/static_models.h"

namespace qtool {
namespace {

/// Returns `types`, with its choices about weights replaced by those that `given` makes.
TypeChoices with_weights_of(const TypeChoices& given, TypeChoices types) {
  const auto take = [](const auto& choice, auto& own) {
    if (choice) own = choice;
  };
  take(given.weight_method, types.weight_method);
  take(given.weight_bits, types.weight_bits);
  take(given.weight_granularity, types.weight_granularity);
  take(given.weight_symmetry, types.weight_symmetry);
  take(given.winograd_bits, types.winograd_bits);
  take(given.weight_pairs, types.weight_pairs);
  return types;
}

}  // namespace

Quantized quantize(const Graph& prepared, const CalibrationTable& table,
                   const StaticOptions& options, const Learned& learned) {
  return StaticModels(prepared, table, options, learned, StaticModels::Keep::kNothing)
      .with(learned.bias_shifts);
}

Quantized quantize(const Graph& prepared, const StaticInputs& inputs) {
  return quantize(prepared, inputs.table, inputs.options, inputs.learned);
}

void fill_weight_entries(const Graph& prepared, const StaticOptions& options,
                         CalibrationTable& table, const Learned& learned) {
  const Groundwork ground = lay_groundwork(prepared, table, options, learned);
  std::vector<WeightEntry> entries = weight_entries(ground, options.threads);
  TypeChoices types = with_weights_of(options.types, table.types);
  // The scales are for this target, which may not need the limit that the table was made with.
  if (ground.target().weight_pairs == WeightPairs::kFree && types.weight_pairs) {
    types.weight_pairs = WeightPairs::kFree;
  }
  // The table's earlier scales are for other types and cannot be mixed with the new ones.
  if (types != table.types) table.weights.clear();
  const auto key_of = [](const WeightEntry& entry) {
    return std::pair(entry.tensor, entry.consumer);
  };
  std::set<std::pair<std::string, std::string>> known;
  for (const WeightEntry& entry : entries) known.insert(key_of(entry));
  for (WeightEntry& earlier : table.weights) {
    if (known.insert(key_of(earlier)).second) entries.push_back(std::move(earlier));
  }
  table.types = types;
  table.rewrites = ground.rewrites();
  table.weights = std::move(entries);
}

}  // namespace qtool
