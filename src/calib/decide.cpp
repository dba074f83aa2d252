#include "calib/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "base/parallel.h"
#include "base/stop.h"
#include "calib/methods/auto.h"
#include "calib/statistics.h"
#include "quant/density.h"

namespace qtool {
namespace {

Degenerate degenerate_of(const Statistics& statistics, Range range, const Scheme& scheme) {
  if (statistics.count() == 0) return Degenerate::kEmpty;
  if (statistics.absmax() == 0.0F) return Degenerate::kAllZero;
  const auto scale = static_cast<float>(exact_step(range, scheme));
  return scale < std::numeric_limits<float>::min() ? Degenerate::kTooSmall : Degenerate::kNo;
}

Observed observed_of(const Statistics& statistics) {
  Observed observed;
  observed.min = statistics.min();
  observed.max = statistics.max();
  observed.mean = statistics.mean();
  observed.standard_deviation = statistics.standard_deviation();
  observed.count = statistics.count();
  observed.zeros = statistics.zeros();
  for (std::int64_t channel = 0; channel < statistics.channels(); ++channel) {
    observed.channel_means.push_back(static_cast<float>(statistics.channel_mean(channel)));
    observed.channel_mins.push_back(statistics.channel_min(channel));
    observed.channel_maxs.push_back(statistics.channel_max(channel));
  }
  return observed;
}

ActivationEntry decide_tensor(const TensorStatistics& tensor, const MethodInfo& method,
                              const MethodOptions& options, Outputs outputs) {
  ActivationEntry entry;
  entry.tensor = tensor.tensor;
  entry.producer = tensor.producer;
  entry.dtype = options.scheme.dtype;
  const MethodChoice choice =
      method.name == "auto" ? best_method(tensor.statistics, options, outputs)
                            : MethodChoice{&method, method.decide(tensor.statistics, options)};
  entry.method = choice.method->name;
  entry.range = choice.range;
  entry.affine = choose_affine(entry.range, options.scheme);
  entry.degenerate = degenerate_of(tensor.statistics, entry.range, options.scheme);
  entry.observed = observed_of(tensor.statistics);
  const QuantizationEffect effect =
      Density(tensor.statistics.histogram()).effect(entry.affine, limits_of(options.scheme));
  entry.saturated_share = effect.saturated_share;
  const double sqnr_db = effect.sqnr_db();
  if (std::isfinite(sqnr_db)) entry.sqnr_db = sqnr_db;
  return entry;
}

}  // namespace

CalibrationTable decide(const Collection& collection, std::string_view method,
                        const MethodOptions& options, int threads) {
  const MethodInfo& info = find_method(method);
  CalibrationTable table;
  table.model_fingerprint = collection.model_fingerprint;
  table.image_list_hash = collection.image_list_hash;
  table.image_ids = collection.image_ids;
  table.image_count = collection.image_count;
  table.exact_bins = collection.exact_bins;
  table.preprocess = collection.preprocess;
  table.method = info.name;
  table.method_options = options;
  table.activations.resize(collection.tensors.size());
  parallel_items(static_cast<std::int64_t>(collection.tensors.size()), resolve_threads(threads),
                 [&](std::int64_t item, int) {
                   check_stop_inside();
                   const auto i = static_cast<std::size_t>(item);
                   table.activations[i] =
                       decide_tensor(collection.tensors[i], info, options, collection.outputs);
                 });
  return table;
}

void add_aliases(const Graph& prepared, CalibrationTable& table) {
  std::unordered_set<std::string_view> tensors;
  for (const ActivationEntry& entry : table.activations) tensors.insert(entry.tensor);
  for (const auto& [gone, surviving] : prepared.info.aliases) {
    if (tensors.contains(surviving)) table.aliases.push_back({gone, surviving});
  }
}

}  // namespace qtool
