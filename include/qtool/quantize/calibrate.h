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

/// The result of sequential_bias_shifts().
struct ShiftsOnImages {
  BiasShifts shifts;          ///< for StaticOptions::bias_shifts
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// How much quantizing shifts each output channel of each layer, measured on images layer by layer.
/// In the order of the graph, both networks run up to
/// the layer, the INT8 one with every layer before it corrected, and their results before the
/// activation are compared where the activation passes the FP32 value (see masked_shifts()). In
/// contrast to the correction from the table, this includes the effects of quantized activations,
/// of earlier layers and of padding. Layers that do not depend on each other share a run. `fp32`
/// holds the prepared graph that `table` belongs to; `collect` says how to read the images, its
/// tensors are ignored; the progress counts images over all runs. The result does not depend on the
/// number of threads. Throws as quantize() and collect() do. Cost: about half an FP32 and half an
/// INT8 inference and one decoded image per image and layer. Memory: as collect(), the results of
/// the layers of one run, and 16 bytes per output channel of these layers and waiting image.
/// Source: Nagel et al., arXiv 1906.04721, appendix D (empirical bias correction). Differs from
/// source: positions that the activation cuts off do not count, because rare large ones of them
/// move the plain mean while nothing behind the layer sees them.
ShiftsOnImages sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                      const StaticOptions& options, const Samples& samples,
                                      const CollectOptions& collect);

class PartialResults;

/// What round_on_images() may use beside the options of quantize().
struct RoundOnImagesOptions {
  std::int64_t max_memory = std::int64_t{1} << 30;  ///< bytes for what is kept of inputs
  /// Layers that it holds are not rounded again; those that are done go there. Null: nowhere.
  PartialResults* resume = nullptr;
  /// True once there is no time left: layers that follow are rounded by `gptq` where the method
  /// asked for takes longer. Asked before each layer; empty: there is time.
  StopCheck out_of_time = {};
};

/// The result of round_on_images().
struct RoundedOnImages {
  RoundedWeights weights;     ///< for QuantizeOptions::rounded
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// The weights of each layer as integers that lose least on images, by a rounding method that needs
/// them (StaticOptions::rounding). For each layer the second moments of the vectors that it
/// multiplies are added up, over some 24,000 positions of all images; layers whose moments fit into
/// `max_memory` together share a pass over the images. Layers of which one alone does not fit,
/// operators other than Conv, Gemm and MatMul, and layers of one name are left out; the integers of
/// the others depend neither on the number of threads nor on how many passes there are. A method
/// that needs samples too gets 8,192 of these vectors, at most 256 MiB of a layer; where they do
/// not fit into `max_memory` beside the moments it does without. `fp32` holds the prepared graph
/// that `table` belongs to; `collect` says how to read the images, its tensors are ignored; the
/// progress counts images over all passes, and layers. Throws as quantize() and collect() do. Cost:
/// per pass one FP32 inference and one decoded image per image; per layer of depth d 24,000 d^2
/// products, and d^3 / 3 for solving. Memory: `max_memory`, as collect(), and per thread 16 d^2
/// bytes and 8 d for each output channel; one layer may exceed `max_memory` by the vectors that
/// wait to be added.
RoundedOnImages round_on_images(const Executor& fp32, const CalibrationTable& table,
                                const StaticOptions& options, const Samples& samples,
                                const CollectOptions& collect,
                                const RoundOnImagesOptions& limits = {});

}  // namespace qtool
