#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "answers/box_decoder.h"
#include "answers/kept_boxes.h"
#include "answers/segmentation.h"
#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"

namespace qtool {

/// The elements of an output that belong to sample `slot` of a batch of `batch` samples.
std::span<const float> sample_part(std::span<const float> all, std::int64_t slot,
                                   std::int64_t batch);

/// Reads the answers of one plan, or of several with equal ports.
class AnswerReader {
 public:
  /// `lowest_score`: see BoxDecoder::read(). Throws as BoxDecoder and MaskReader do, and
  /// Error(kMismatch) when the outputs do not suit `options`.
  AnswerReader(const AnswerOptions& options, const Plan& plan, TensorLayout layout,
               double lowest_score = kRankedScore);

  /// The answer for image `slot` of the plan's batch.
  [[nodiscard]] Answer read(std::span<const TensorView> outputs, std::int64_t slot = 0) const;

  /// Checks the outputs of FP32 for one image, see require_fit(); without boxes it does nothing.
  void require_fit(std::span<const TensorView> outputs) const;

  /// The number of classes that boxes can have; 0 without boxes.
  [[nodiscard]] std::int64_t box_classes() const { return boxes_ ? boxes_->classes() : 0; }

 private:
  std::optional<BoxDecoder> boxes_;
  std::optional<MaskReader> mask_;
  std::optional<double> decision_;
  std::optional<std::int64_t> text_blank_;
  std::int64_t batch_ = 1;
};

/// The answers of two models for one image, counted.
struct AnswerCounts {
  std::vector<BoxCounts> boxes{};       ///< see KeptBoxScorer::add(); empty without boxes
  std::optional<MaskAgreement> mask{};  ///< see MaskScorer::add(); nullopt without masks
};

/// Counts, over all images, how well the answers of two models agree. Each worker may have its own
/// scorer. The result does not depend on how the images were shared among the scorers.
class AnswerScorer {
 public:
  explicit AnswerScorer(const AnswerOptions& options);

  /// Adds the answers for one image. Returns their counts.
  AnswerCounts add(const Answer& fp32, const Answer& int8);
  AnswerScorer& operator+=(const AnswerScorer& other);
  [[nodiscard]] AnswerAgreement result() const;

 private:
  std::optional<KeptBoxScorer> boxes_;
  std::optional<MaskScorer> mask_;
  std::optional<EqualAnswers> decisions_;
  std::optional<TextAgreement> texts_;
};

/// The text for scores [steps, classes]: the best class of each step (the lowest class wins a tie),
/// with repeats merged and `blank` removed. See AnswerOptions::text_blank.
std::vector<std::int64_t> best_path(std::span<const float> scores, std::int64_t classes,
                                    std::int64_t blank);

}  // namespace qtool
