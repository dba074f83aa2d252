#include "qtool/pipeline/calibrate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "base/text.h"
#include "calib/decide.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/groundwork.h"
#include "quantize/placement/operands.h"
#include "quantize/placement/placement.h"
#include "quantize/rewrites/rewrite.h"

namespace qtool {
namespace {

// Applies the overrides to a table that has only names: apply_overrides() throws the same errors as
// for a complete table.
void require_fitting(const Overrides& overrides, const Scheme& scheme, const Graph& graph,
                     const std::vector<std::string>& tensors) {
  static_cast<void>(match_nodes(graph, overrides.exclude));
  CalibrationTable names;
  for (const std::string& tensor : tensors) names.activations.emplace_back().tensor = tensor;
  add_aliases(graph, names);
  apply_overrides(overrides, scheme, nullptr, names);
}

}  // namespace

CalibrateOptions calibrate_options(const Recipe& recipe) {
  CalibrateOptions options;
  options.target = recipe.target;
  options.types = recipe.types;
  options.rewrites = recipe.rewrites.value_or(std::vector<std::string>());
  options.overrides = recipe.overrides;
  options.method = recipe.method;
  options.method_options = recipe.method_options;
  return options;
}

Target calibration_target(const CalibrateOptions& options) {
  Target target = chosen_target(CalibrationTable(), options.target, options.types);
  MethodOptions method_options = options.method_options;
  method_options.scheme = target.activations;
  // Methods check their options first, so empty statistics are enough to have them checked.
  static_cast<void>(find_method(options.method).decide(Statistics(), method_options));
  for (const std::string& rewrite : options.rewrites) static_cast<void>(find_rewrite(rewrite));
  return target;
}

Calibration::Calibration(const Executor& fp32, CalibrateOptions options)
    : fp32_(fp32), options_(std::move(options)), target_(calibration_target(options_)) {
  options_.method_options.scheme = target_.activations;
  require_float_graph(fp32_.graph());  // quantize() would refuse other models
  std::vector<std::string>& tensors = options_.collect.tensors;
  if (tensors.empty()) {
    tensors = tensors_to_calibrate(fp32_.graph(), target_, options_.overrides.exclude);
  }
  require_fitting(options_.overrides, target_.activations, fp32_.graph(), tensors);
}

Collection Calibration::collect(const Samples& samples) const {
  return qtool::collect(fp32_, samples, options_.collect);
}

CalibrationTable Calibration::decide(const Collection& collection) const {
  const StopScope scope(options_.stop);
  const std::optional<std::uint64_t>& expected = options_.collect.model_fingerprint;
  if (collection.model_fingerprint != (expected ? *expected : fingerprint(fp32_.whole_graph()))) {
    throw Error(ErrorCode::kMismatch, "the statistics are of another model");
  }
  std::unordered_set<std::string_view> observed;
  for (const TensorStatistics& statistics : collection.tensors) observed.insert(statistics.tensor);
  for (const std::string& tensor : tensors()) {
    if (observed.contains(tensor)) continue;
    throw Error(ErrorCode::kMismatch, to_text("the statistics lack tensor '", tensor,
                                              "', which this target or exclusion needs"));
  }
  const int threads = options_.collect.threads;
  CalibrationTable table =
      qtool::decide(collection, options_.method, options_.method_options, threads);
  add_aliases(fp32_.graph(), table);
  apply_overrides(options_.overrides, target_.activations, &collection, table);
  table.types = options_.types;
  if (!target_.adds_pairs_in_16_bits) table.types.weight_pairs.reset();  // it has no effect
  const Groundwork ground(fp32_.graph(), table, target_, options_.overrides.exclude,
                          options_.rewrites);
  table.weights = weight_entries(ground, threads);
  table.rewrites = ground.rewrites();
  return table;
}

CalibrationResult calibrate(const Executor& fp32, const Samples& samples,
                            const CalibrateOptions& options) {
  const Calibration calibration(fp32, options);
  CalibrationResult result;
  result.collection = calibration.collect(samples);
  result.table = calibration.decide(result.collection);
  CalibrateOptions without_progress = options;  // the samples were counted once
  without_progress.collect.progress = {};
  result.pairs = choose_pairs(fp32, samples, without_progress, result.table);
  return result;
}

}  // namespace qtool
