#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/answers/answer.h"
#include "qtool/base/progress.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/method.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

struct CalibrateOptions {
  std::string target{kDefaultTarget};
  TypeChoices types;                  ///< override the target's types; kept in the table
  std::vector<std::string> rewrites;  ///< as StaticOptions::rewrites; kept in the table
  Overrides overrides;                ///< nodes that stay in FP32, given ranges and scales
  std::string method{kDefaultMethod};
  MethodOptions method_options;  ///< the scheme is replaced by that of the target's activations
  CollectOptions collect;        ///< empty `tensors`: all that the target wants as integers
  StopCheck stop{};              ///< asked while ranges are decided; true ends it with kCancelled
};

/// The options of calibrate() for `recipe`. The rewrites are those of the recipe itself, not those
/// that its effort adds to the model. How samples are read is left open.
CalibrateOptions calibrate_options(const Recipe& recipe);

/// Whether limited pairs of weights are worth their cost, see Target::adds_pairs_in_16_bits.
struct PairChoice {
  std::int64_t saturating_pairs = 0;  ///< QuantizeReport::saturating_pairs while pairs are free
  /// SQNR with free pairs less SQNR with limited ones: the mean over the samples, of which none
  /// counts more than 6 dB, for the output that loses most.
  double cost_db = 0.0;
  std::optional<Interval> interval{};  ///< of the mean; empty for fewer than 6 samples
  std::int64_t samples = 0;            ///< on which it was measured
  bool is_limited = false;
};

/// The SQNR that limited pairs may cost.
inline constexpr double kMostPairCostDb = 0.2;

struct CalibrationResult {
  CalibrationTable table;
  Collection collection;
  std::optional<PairChoice> pairs{};  ///< see choose_pairs()
};

/// The target of `options`, with the types that the options choose. Throws Error(kUsage) for an
/// unknown target, method or rewrite, and for options outside their domain. This checks everything
/// that can be checked without a model.
Target calibration_target(const CalibrateOptions& options);

/// The calibration of one model for one target. The observed tensors, the ranges and the scales of
/// the weights all follow from one Target, so that their types cannot disagree.
class Calibration {
 public:
  /// `fp32` holds the prepared model and must outlive this object. Throws as calibration_target(),
  /// Error(kUsage) for an exclusion or override that matches nothing, Error(kInvalidArgument) for a
  /// given range or scale outside its domain, and Error(kUnsupported) that names a node for a model
  /// that is quantized already.
  Calibration(const Executor& fp32, CalibrateOptions options);
  Calibration(Executor&& fp32, CalibrateOptions options) = delete;

  /// Names of the tensors to observe.
  [[nodiscard]] const std::vector<std::string>& tensors() const& noexcept {
    return options_.collect.tensors;
  }
  /// See qtool::collect().
  [[nodiscard]] Collection collect(const Samples& samples) const;
  /// The whole table: ranges chosen by the method, aliases, overrides, scales of the weights and
  /// types. `collection` may come from this run or an earlier one. Throws Error(kMismatch) when it
  /// belongs to another model or lacks a tensor. Cost: a few milliseconds per tensor, plus the cost
  /// of the weight method.
  [[nodiscard]] CalibrationTable decide(const Collection& collection) const;

 private:
  const Executor& fp32_;
  CalibrateOptions options_;
  Target target_;
};

/// Limits the pairs of weights in `table`, which decide() made with these options, if that costs at
/// most kMostPairCostDb on a few of the samples. Then the model gives the same answers on
/// processors on which the back-end's sums of two products saturate. Nothing where the options say
/// which pairs they want, where no pair can saturate, or where the models cannot be compared; the
/// table then stays. Both models are made without what an effort adds. Throws Error(kCancelled).
/// Cost: two models are made. They and FP32 run on 8 samples, and on up to 16 while the interval of
/// the mean holds kMostPairCostDb.
std::optional<PairChoice> choose_pairs(const Executor& fp32, const Samples& samples,
                                       const CalibrateOptions& options, CalibrationTable& table);

/// Makes a Calibration, collects the statistics, decides the table and calls choose_pairs(). Throws
/// as they do.
CalibrationResult calibrate(const Executor& fp32, const Samples& samples,
                            const CalibrateOptions& options);

}  // namespace qtool
