#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "answers/box_scorer.h"
#include "compare/model_pair.h"
#include "qtool/compare/evaluate.h"

namespace qtool {

/// The counts of the boxes of single samples, from which the intervals of their shares are
/// computed. Samples are added in the order of the list. Memory: 24 bytes for each entry of
/// BoxAgreement::matches, per sample.
class BoxFigures {
 public:
  /// `boxes`: one for each entry of BoxAgreement::matches, as AnswerScorer::add() returns them.
  void add(std::span<const BoxCounts> boxes);
  /// Writes the intervals of entry `k` to `match`, which has the figures of all samples that were
  /// added. Cost: as bootstrap_interval(), twice.
  void write_intervals(std::size_t k, BoxMatch& match) const;

 private:
  std::vector<std::vector<double>> counts_;  // [entry][sample, FP32's, kept and added]
};

/// The figures of single samples, from which evaluate() computes its intervals. Samples are added
/// in the order of the list. Memory: 24 bytes for each output and each entry of
/// BoxAgreement::matches, per sample.
class SampleFigures {
 public:
  /// Adds the outputs of a sample that both models answered, and the counts of its boxes.
  void add(std::span<const ComparedOutput> outputs, std::span<const BoxCounts> boxes);
  /// Adds a sample with a known class: whether FP32 and INT8 name it.
  void add_top1(bool fp32, bool int8);

  /// Writes the intervals to the figures of `result`. Cost: as bootstrap_interval(), for each
  /// figure.
  void write_intervals(EvalResult& result) const;

 private:
  std::vector<std::vector<double>> sqnr_db_;  // [output][sample]
  std::vector<std::vector<double>> sums_;     // [output][sample, signal and noise]
  BoxFigures boxes_;
  std::vector<double> top1_;  // [labelled sample]
};

}  // namespace qtool
