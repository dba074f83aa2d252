#pragma once

#include <cstdint>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/compare/evaluate.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

/// The result of tune_ranges().
struct RangeTuning {
  TunedRanges ranges;      ///< for Learned::tuned_ranges; empty: no range is changed
  std::int64_t tried = 0;  ///< ranges that were worth trying
  /// The SQNR averaged over the outputs and over the judging samples. before_db: with the ranges
  /// that the search began with. after_db: with the tuned ranges, even if they were refused. Both
  /// are equal when the search found no better range.
  double before_db = 0.0;
  double after_db = 0.0;
  bool refused = false;       ///< the tuned ranges gained too little on the judging samples
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// Finds ranges of activations that cause less noise at the outputs of the network than the ranges
/// of the table. A calibration method sees one tensor and treats all of its errors as equally bad.
/// Here the outputs of the network show which errors matter.
/// Each range is made narrower and wider step by step, from half to one and a half of its width, as
/// long as the noise falls. Noise means the noise at the outputs of the FP32 network when only this
/// tensor is rounded. Tensors that a Concat joins are changed together. The noise of each sample
/// and output is divided by the noise of the INT8 model there, so that no sample and no output with
/// large values decides alone. Only ranges that cause at least 0.5 % of the noise are tried. Ranges
/// that the user gave are not tried.
/// Half of the samples are used for tuning, the other half for judging. On the judging samples, the
/// model with the tuned ranges must be better by 0.3 dB in the mean over its outputs, and no output
/// may be worse by more than 0.1 dB. Otherwise no range is changed.
/// `fp32` holds the prepared graph that `table` belongs to. `options`: as for quantize(); the
/// search begins with its tuned ranges. The result does not depend on the number of threads. Throws
/// as quantize(), analyze() and evaluate().
/// Cost: on each of at most 32 tuning samples, one FP32 run per pass (at most 6 passes), one INT8
/// run, and a part of an FP32 run for every tensor and for every step that is tried. Then at most
/// two evaluations of an INT8 model against the FP32 model on at most 32 judging samples. Memory:
/// as analyze().
/// Source: the noise of a single tensor is measured as in analyze(); the search is ours. The
/// problem is stated in Migacz, 8-bit Inference with TensorRT, GTC 2017 (fine-tuning of saturation
/// thresholds).
RangeTuning tune_ranges(const Executor& fp32, const CalibrationTable& table,
                        const StaticOptions& options, const Learned& learned,
                        const Samples& samples, const SampleRunOptions& run);

}  // namespace qtool
