#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/calib/collect.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/measure/analyze.h"
#include "qtool/measure/median_interval.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// What an INT8 model is made from, so that it can be made again with something changed.
struct Recipe {
  CalibrationTable table;
  StaticOptions options;
};

/// The recipe that an INT8 model itself tells: the scales and zero points of its activations and
/// weights, what it adds to biases, its target and the layers that it leaves in FP32. quantize()
/// makes the same integers of it where qtool made the model; another tool may have placed its pairs
/// elsewhere. Both graphs are prepared and have names in common, see analyze(). Throws
/// Error(kUnsupported) for a model without stored scales, with activations of 16 bits, weights
/// whose scales do not lie along their output channels, or made with rewrites (`qtool.rewrites`).
/// Cost: linear.
Recipe recipe_of(const Graph& fp32, const Graph& int8);

/// A change of a recipe, in the terms of the program's options.
struct Change {
  std::vector<std::string> exclude{};                  ///< nodes to leave in FP32: --exclude
  std::vector<Overrides::GivenRange> ranges{};         ///< --range
  std::string method{};                                ///< --method of calibrate; empty: as it is
  std::string weight_method{};                         ///< --weight-method; empty: as it is
  std::optional<std::vector<std::string>> rewrites{};  ///< StaticOptions::rewrites: --equalize
  std::vector<std::string> wide{};                     ///< tensors to keep in 16 bits: --wide
  friend bool operator==(const Change&, const Change&) = default;
};

/// A change that was made, and what it brought.
struct Suggestion {
  Change change;
  double noise = 0.0;  ///< of the changed model, as AnalyzeResult::noise
  double sqnr_db = 0.0;
  double gain_db = 0.0;             ///< over SuggestResult::sqnr_db
  MedianInterval slower_seconds{};  ///< time of an image, the changed model's minus the other's
};

struct SuggestOptions : AnalyzeOptions {
  std::int64_t sources = 8;                ///< how many of the worst ones to look for changes for
  double least_gain_db = 0.5;              ///< what a change must bring to be suggested
  std::int64_t most = 10;                  ///< suggestions
  std::int64_t repeat = 31;                ///< timed runs of each model, on `threads` threads
  const Collection* statistics = nullptr;  ///< of the recipe's table: to try other methods; or null
};

struct SuggestResult {
  /// Of the model that the recipe makes without a change.
  double sqnr_db = 0.0;
  std::int64_t tried = 0;
  double least_gain_db = 0.0;
  int threads = 1;                      ///< that times were measured with
  double int8_seconds = 0.0;            ///< median time of an image without a change
  std::vector<Suggestion> suggestions;  ///< the largest gain first
};

/// Changes of a recipe that bring accuracy, each tried on the images before it is returned.
/// Tried are: FP32 for what each of the worst sources needs, and for the worst ones together; the
/// range that the images have, for the worst activations whose range is another one; every other
/// method, weight method and equalization, where the table has what they need; the best of these
/// together. Of those that bring `least_gain_db`, one is returned only if it brings as much more
/// than every smaller one: with fewer nodes in FP32 or, with as many, fewer other options. Noise
/// does not depend on the number of threads; times are measured, the models in turn. `analysis` is
/// analyze()'s of the model that the recipe makes; other arguments as there. A change that
/// quantize() refuses is not tried. Throws as analyze() and quantize(). Cost: about sources * 4
/// INT8 runs per image, an FP32 run per image and six of these.
SuggestResult suggest(const Executor& fp32, const Recipe& recipe, const AnalyzeResult& analysis,
                      const Samples& samples, const SuggestOptions& options);

}  // namespace qtool
