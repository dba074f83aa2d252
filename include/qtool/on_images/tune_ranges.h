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
  TunedRanges ranges;  ///< for StaticOptions::tuned_ranges; empty: nothing is better than the table
  std::int64_t tried = 0;  ///< ranges that were worth trying
  /// SQNR of the outputs, the mean over them and over the samples kept aside, with the ranges of
  /// the table and with the tuned ones. Equal when no range was changed.
  double before_db = 0.0;
  double after_db = 0.0;
  bool refused = false;  ///< on the samples kept aside, the tuned ranges were not better enough
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// Ranges of activations that lose less at the outputs of the network than those of the table. A
/// method of calibration sees one tensor and takes all of its errors for equally bad; here the rest
/// of the network says which matter.
/// Each range is made narrower and wider, step by step from half of it to one and a half, as long
/// as the noise at the outputs falls that rounding this tensor alone brings to the FP32 network;
/// tensors that a Concat joins go together. Noise is counted per sample and output, as a share of
/// that of the INT8 model, so that neither loud samples nor loud outputs decide alone. Tried are
/// the ranges that make more than 0.5 % of the noise, except those that the user gave.
/// Half of the samples tune, the other half judges: the model with the tuned ranges must be better
/// by 0.3 dB in the mean of its outputs, and no output worse by more than 0.1 dB, or no range is
/// changed.
/// `fp32` holds the prepared graph that `table` belongs to. `options` as for quantize(); its tuned
/// ranges are those to begin with. The result does not depend on the number of threads. Throws as
/// quantize(), analyze() and evaluate().
/// Cost: on 32 samples at most, an FP32 and an INT8 run each, and a part of an FP32 run for every
/// tensor and every step of those tried; then both models on 32 samples at most. Memory: as
/// analyze().
/// Source: the noise of a source by itself is that of analyze(); the search is ours. The problem is
/// stated in Migacz, 8-bit Inference with TensorRT, GTC 2017 (fine-tuning of saturation
/// thresholds).
RangeTuning tune_ranges(const Executor& fp32, const CalibrationTable& table,
                        const StaticOptions& options, const Samples& samples,
                        const SampleRunOptions& run);

}  // namespace qtool
