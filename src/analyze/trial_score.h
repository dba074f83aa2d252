#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "answers/answer.h"
#include "compare/kept_counts.h"
#include "compare/metrics.h"
#include "qtool/analyze/analyze.h"
#include "qtool/answers/answer.h"

namespace qtool {

/// How the answers of a model compare with FP32 on the images. Figures are defined as in
/// evaluate().
struct TrialScore {
  std::vector<double> sqnr_db;  ///< per output: pooled, over the images that both models answered
  std::int64_t images = 0;
  std::int64_t unanswered = 0;  ///< images that FP32 answered and this model did not
  /// The share of the images with the top-1 class of FP32, or agreement_of() where boxes or a mask
  /// are read. nullopt where the outputs are none of these.
  std::optional<double> agreement{};
  std::optional<BoxMatch> boxes{};       ///< AnswerAgreement::judged_boxes(), where boxes are read
  std::optional<double> equal_pixels{};  ///< with a mask: share of pixels with FP32's class
  std::int64_t labelled = 0;
  std::int64_t fp32_top1 = 0;
  std::int64_t top1 = 0;
  double integer_share = 0.0;                 ///< share of the multiplications on integers
  std::optional<Interval> pixels_interval{};  ///< see KeptAnswers and TrialIntervals
  std::optional<AnswerShare> mean_iou{};      ///< with a mask
};

/// The decibels of the worst output; 0 for a network without outputs.
double worst_db(const TrialScore& score);

/// The figures of a score for people who compare models.
KeptAnswers kept_answers(const TrialScore& score);

/// Whether boxes or a mask are compared.
bool reads_agreement(const AnswerOptions& answers);

/// The answers of FP32, and of the models that run together, for one image.
struct TriedAnswers {
  bool usable = false;
  bool fp32 = false;  ///< whether FP32 answered
  std::int64_t fp32_class = -1;
  std::vector<SqnrSums> sums{};           ///< [model * outputs + output]
  std::vector<bool> answered{};           ///< per model
  std::vector<std::int64_t> class_of{};   ///< per model
  std::vector<AnswerScorer> agreement{};  ///< per model, where boxes or a mask are read
  std::vector<AnswerCounts> counts{};     ///< per model, likewise
};

/// Which intervals the scores of models have. Those of answers take time for each model.
enum class TrialIntervals : std::uint8_t { kNone, kOfAnswers };

/// Computes the score of one model. Images are added in the order of the list. Memory: as
/// KeptCounts, if there are intervals.
class TrialScoreSums {
 public:
  /// Without intervals.
  explicit TrialScoreSums(const AnswerOptions& answers) : agreement_(answers) {}
  /// With the intervals of answers. At most `samples` images are added. `most_class_counts`: see
  /// KeptCounts.
  TrialScoreSums(const AnswerOptions& answers, std::size_t samples,
                 std::int64_t most_class_counts = kMostClassCounts);

  /// `model`: its index in `one`; `outputs`: its number of outputs; `label`: label of the image.
  void add(const TriedAnswers& one, std::size_t model, std::size_t outputs, std::int64_t label);
  /// Cost: with intervals of boxes or a mask, as bootstrap_interval() twice.
  [[nodiscard]] TrialScore score(std::size_t outputs) const;

 private:
  void write_agreement(TrialScore& score) const;

  AnswerScorer agreement_;
  std::optional<KeptCounts> counts_{};  // for intervals
  TrialScore score_;
  std::vector<SqnrSums> sums_;  // per output, over the images that both models answered
  std::int64_t compared_ = 0;
  std::int64_t answered_ = 0;  // images for which FP32 gives a class
  std::int64_t equal_ = 0;
};

}  // namespace qtool
