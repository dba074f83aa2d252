#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "compare/output_noise.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// By how much one INT8 model is nearer to FP32 than another, on the same samples. Pairs differ
/// less from sample to sample than each model does, so few samples show a difference.
class PairedGains {
 public:
  /// No sample counts more than this. Without noise its SQNR would be infinite.
  static constexpr double kMostOfSampleDb = 6.0;

  /// `before` and `after`: INT8 models of the network of `fp32`. `run`: how samples are read.
  /// `first`: any usable sample, whose shapes the others have. Throws as prepare() and
  /// compile_pair().
  PairedGains(const Executor& fp32, const Graph& before, const Graph& after, const Samples& first,
              SampleRunOptions run);

  /// An image is run in so many views at most.
  static constexpr std::int64_t kMostViews = 4;

  /// Runs the three models on more samples. Images are run in so many views, moved by a few pixels
  /// each: the content is the same, but numbers are rounded differently, so that the mean over the
  /// views depends less on chance. The views of an image count as one sample. Reports to the
  /// progress of the options. `work` names it in the error when it is stopped. Throws as
  /// for_each_sample(). The result does not depend on the number of threads.
  void add(const Samples& samples, std::string_view work, std::int64_t views = 1);

  /// The number of samples that were usable; 0 where the network has no output of real numbers.
  [[nodiscard]] std::int64_t samples() const { return std::ssize(gains_); }
  /// The SQNR of `after` less that of `before`: [sample][output of real numbers].
  [[nodiscard]] const std::vector<std::vector<double>>& by_sample() const { return gains_; }

 private:
  /// What one worker needs.
  struct Worker {
    Workspace fp32;
    Workspace before;
    Workspace after;
    KeptOutputs reference;
  };

  /// Adds the gain of each output to `gains`.
  void run_on(std::span<const TensorView> inputs, Worker& worker, std::vector<double>& gains) const;

  SampleRunOptions run_;
  Executor before_;
  Executor after_;
  std::shared_ptr<const Plan> fp32_plan_;
  std::shared_ptr<const Plan> before_plan_;
  std::shared_ptr<const Plan> after_plan_;
  std::vector<std::size_t> outputs_;        // with real numbers
  std::vector<std::vector<double>> gains_;  // [sample][output]
};

/// The means over the samples, by output, of PairedGains::by_sample(). Empty without samples.
std::vector<MeanGain> mean_gains(std::span<const std::vector<double>> by_sample);

/// Whether an output loses: more than `most_lost` dB in the mean, or by more than the interval.
bool is_loss(std::span<const MeanGain> outputs, double most_lost);

/// Whether some output gains by more than the interval of the gain, and none loses.
bool is_clear_gain(std::span<const MeanGain> outputs, double most_lost);

}  // namespace qtool
