#include "measure/answer.h"

#include <algorithm>

#include "measure/model_pair.h"

namespace qtool {

AnswerReader::AnswerReader(const AnswerOptions& options, const Plan& plan, TensorLayout layout) {
  const Shape& input = plan.inputs().front().shape;
  batch_ = input.rank() > 0 ? std::max<std::int64_t>(input[0], 1) : 1;
  const ChannelAxis axis = layout == TensorLayout::kNchw ? ChannelAxis::kFirst : ChannelAxis::kLast;
  if (options.boxes) boxes_.emplace(*options.boxes, plan.outputs(), input, axis);
  if (options.mask) mask_.emplace(*options.mask, plan.outputs().front(), axis);
}

Answer AnswerReader::read(std::span<const TensorView> outputs, std::int64_t slot) const {
  Answer answer;
  if (boxes_) answer.boxes = boxes_->read(outputs, slot);
  if (mask_) answer.mask = mask_->read(image_part(outputs.front(), slot, batch_));
  return answer;
}

AnswerScorer::AnswerScorer(const AnswerOptions& options) {
  if (options.boxes) boxes_.emplace(*options.boxes);
  if (options.mask) mask_.emplace();
}

void AnswerScorer::add(const Answer& fp32, const Answer& int8) {
  if (boxes_) boxes_->add(fp32.boxes, int8.boxes);
  if (mask_ && fp32.mask && int8.mask) mask_->add(*fp32.mask, *int8.mask);
}

AnswerScorer& AnswerScorer::operator+=(const AnswerScorer& other) {
  if (boxes_ && other.boxes_) *boxes_ += *other.boxes_;
  if (mask_ && other.mask_) *mask_ += *other.mask_;
  return *this;
}

AnswerAgreement AnswerScorer::result() const {
  AnswerAgreement agreement;
  if (boxes_) agreement.boxes = boxes_->result();
  if (mask_) agreement.mask = mask_->result();
  return agreement;
}

}  // namespace qtool
