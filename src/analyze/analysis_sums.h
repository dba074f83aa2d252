#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/accumulated_error.h"
#include "compare/metrics.h"
#include "compare/tensor_rounding.h"
#include "qtool/analyze/analyze.h"

namespace qtool {

/// The results of analyze() for one sample.
struct SampleSums {
  bool usable = false;
  bool compares_biases = false;     ///< whether `weights_alone` is filled
  std::vector<SqnrSums> int8;       ///< the whole INT8 model: per output
  std::vector<SqnrSums> sources{};  ///< [source * outputs + output]; activations, then nodes
  /// Nodes whose weights and bias both differ from FP32, run with the FP32 bias.
  /// [node * outputs + output].
  std::vector<SqnrSums> weights_alone{};
  std::vector<TensorRounding> roundings{};  ///< per activation
  AccumulatedErrors::Sums accumulated{};
  std::vector<std::vector<ValuePair>> output_pairs{};  ///< from the first images
};

/// The sums of all samples. Samples are added one after the other, in the order of the list.
class AnalysisSums {
 public:
  void add(SampleSums&& sample);

  [[nodiscard]] std::int64_t images() const noexcept { return images_; }
  [[nodiscard]] double noise() const;
  [[nodiscard]] std::optional<Interval> interval_db() const;
  /// The noise of a source. Sources are numbered as in SampleSums::sources.
  [[nodiscard]] double noise_of_source(std::size_t source) const;
  /// The noise of a node's weights with the FP32 bias, divided by the noise of its weights and bias
  /// together. `node` is its number among the nodes whose weights and bias both differ from FP32.
  /// Above 1 where the bias compensates for errors of the weights.
  [[nodiscard]] double part_of_weights(std::size_t node, std::size_t source) const;

  [[nodiscard]] const std::vector<SqnrSums>& outputs() const noexcept { return int8_; }
  [[nodiscard]] const TensorRounding& rounding(std::size_t activation) const {
    return roundings_.at(activation);
  }
  [[nodiscard]] const AccumulatedErrors::Sums& accumulated() const noexcept { return accumulated_; }
  [[nodiscard]] const std::vector<std::vector<ValuePair>>& output_pairs() const noexcept {
    return output_pairs_;
  }

 private:
  std::int64_t images_ = 0;
  std::vector<SqnrSums> int8_;
  std::vector<std::vector<SqnrSums>> groups_;  // int8_ by group, see jackknife_interval()
  std::vector<SqnrSums> sources_;
  std::vector<SqnrSums> with_bias_;  // as sources_, only images that compare biases
  std::vector<SqnrSums> weights_alone_;
  std::vector<TensorRounding> roundings_;
  AccumulatedErrors::Sums accumulated_;
  std::vector<std::vector<ValuePair>> output_pairs_;
};

}  // namespace qtool
