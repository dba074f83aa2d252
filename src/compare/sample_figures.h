#pragma once

#include <span>
#include <vector>

#include "compare/model_pair.h"
#include "qtool/compare/evaluate.h"

namespace qtool {

/// The figures of single samples, from which evaluate() computes its intervals, but those of boxes
/// and masks, see KeptCounts. Samples are added in the order of the list. Memory: 24 bytes for each
/// output, per sample.
class SampleFigures {
 public:
  /// Adds the outputs of a sample, if both models answered it.
  void add(std::span<const ComparedOutput> outputs);
  /// Adds a sample with a known class: whether FP32 and INT8 name it.
  void add_top1(bool fp32, bool int8);

  /// Writes the intervals to the figures of `result`. Cost: as bootstrap_interval(), for each
  /// figure.
  void write_intervals(EvalResult& result) const;

 private:
  std::vector<std::vector<double>> sqnr_db_;  // [output][sample]
  std::vector<std::vector<double>> sums_;     // [output][sample, signal and noise]
  std::vector<double> top1_;                  // [labelled sample]
};

}  // namespace qtool
