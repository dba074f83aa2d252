#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/method.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

struct CalibrateOptions {
  std::string target{kDefaultTarget};
  TypeChoices types;                  ///< over the target's; the table keeps them
  std::vector<std::string> rewrites;  ///< as StaticOptions::rewrites; the table keeps them
  Overrides overrides;                ///< nodes that stay in FP32, given ranges and scales
  std::string method{kDefaultMethod};
  MethodOptions method_options;  ///< the scheme is always that of the target's activations
  CollectOptions collect;        ///< without tensors: those that the target wants as integers
};

struct CalibrationResult {
  CalibrationTable table;
  Collection collection;
};

/// The target of `options` with the types that they choose. Throws Error(kUsage) for an unknown
/// target or method and for options out of their domain: what can be known without a model.
Target calibration_target(const CalibrateOptions& options);

/// The calibration of one model for one target. What is observed, how ranges are decided and which
/// weights get scales all come from one Target, so that their types cannot disagree.
class Calibration {
 public:
  /// `fp32` holds the prepared model and must live as long. Throws as calibration_target(),
  /// Error(kUsage) for an exclusion or override that matches nothing, Error(kInvalidArgument) for a
  /// given range or scale out of its domain, and Error(kUnsupported) naming a node for a model that
  /// is quantized already.
  Calibration(const Executor& fp32, CalibrateOptions options);
  Calibration(Executor&& fp32, CalibrateOptions options) = delete;

  /// Names of the tensors to observe.
  [[nodiscard]] const std::vector<std::string>& tensors() const& noexcept {
    return options_.collect.tensors;
  }
  /// See qtool::collect().
  [[nodiscard]] Collection collect(const Samples& samples) const;
  /// The whole table: ranges by the method, aliases, overrides, scales of the weights, types. From
  /// statistics of this or an earlier run; throws Error(kMismatch) when they are of another model
  /// or lack a tensor. Cost: a few milliseconds per tensor, and the weight method's.
  [[nodiscard]] CalibrationTable decide(const Collection& collection) const;

 private:
  const Executor& fp32_;
  CalibrateOptions options_;
  Target target_;
};

/// All of it: images in, table out. Throws as the parts do.
CalibrationResult calibrate(const Executor& fp32, const Samples& samples,
                            const CalibrateOptions& options);

}  // namespace qtool
