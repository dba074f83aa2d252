#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "measure/box_reader.h"
#include "measure/box_scorer.h"
#include "measure/mask.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/measure/answer.h"

namespace qtool {

/// Reads the answers of one plan, or of several with equal ports.
class AnswerReader {
 public:
  /// Throws as BoxReader and MaskReader when the outputs do not suit what is asked for.
  AnswerReader(const AnswerOptions& options, const Plan& plan, TensorLayout layout);

  /// What `outputs` say of image `slot` of the plan's batch.
  [[nodiscard]] Answer read(std::span<const TensorView> outputs, std::int64_t slot = 0) const;

  /// How many classes boxes may have; 0 without boxes.
  [[nodiscard]] std::int64_t box_classes() const { return boxes_ ? boxes_->classes() : 0; }

 private:
  std::optional<BoxReader> boxes_;
  std::optional<MaskReader> mask_;
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
};

}  // namespace qtool
