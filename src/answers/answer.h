#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "answers/box_reader.h"
#include "answers/box_scorer.h"
#include "answers/mask.h"
#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"

namespace qtool {

/// The elements of a whole output that belong to sample `slot` of `batch`.
std::span<const float> sample_part(std::span<const float> all, std::int64_t slot,
                                   std::int64_t batch);

/// Reads the answers of one plan, or of several with equal ports.
class AnswerReader {
 public:
  /// Throws as BoxReader and MaskReader, and Error(kMismatch), when the outputs do not suit what is
  /// asked for.
  AnswerReader(const AnswerOptions& options, const Plan& plan, TensorLayout layout);

  /// What `outputs` say of image `slot` of the plan's batch.
  [[nodiscard]] Answer read(std::span<const TensorView> outputs, std::int64_t slot = 0) const;

  /// How many classes boxes may have; 0 without boxes.
  [[nodiscard]] std::int64_t box_classes() const { return boxes_ ? boxes_->classes() : 0; }

 private:
  std::optional<BoxReader> boxes_;
  std::optional<MaskReader> mask_;
  std::optional<double> decision_;
  std::optional<std::int64_t> text_blank_;
  std::int64_t batch_ = 1;
};

/// Sums over images how far the answers of two models agree. Each worker may have one of its own:
/// the result does not depend on how images were shared among them.
class AnswerScorer {
 public:
  explicit AnswerScorer(const AnswerOptions& options);

  void add(const Answer& fp32, const Answer& int8);
  AnswerScorer& operator+=(const AnswerScorer& other);
  [[nodiscard]] AnswerAgreement result() const;

 private:
  std::optional<BoxScorer> boxes_;
  std::optional<MaskScorer> mask_;
  std::optional<EqualAnswers> decisions_;
  std::optional<EqualAnswers> texts_;
};

/// The text of scores [steps, classes], step by step: the best class of each step (of equal ones
/// the lowest), repeats merged, without `blank`. See AnswerOptions::text_blank.
std::vector<std::int64_t> best_path(std::span<const float> scores, std::int64_t classes,
                                    std::int64_t blank);

}  // namespace qtool
