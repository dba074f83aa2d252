#include "answers/answer.h"

#include <algorithm>

#include "answers/detector_fit.h"
#include "base/edit_distance.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

void require_floats(const PortInfo& output) {
  if (output.dtype == DType::kFloat32) return;
  throw Error(ErrorCode::kMismatch, to_text("output '", output.name, "' is ", name_of(output.dtype),
                                            ", expected float32 to compare answers"));
}

void require_steps(const PortInfo& output, std::int64_t blank) {
  const Shape& shape = output.shape;
  if (shape.rank() >= 2 && blank < shape[shape.rank() - 1]) return;
  throw Error(ErrorCode::kMismatch,
              to_text("output '", output.name, "' has shape ", shape.to_string(),
                      ", expected steps and more than ", blank, " classes on the last axis"));
}

// The network may lack the last character, see AnswerOptions::characters.
void require_characters(const PortInfo& output, std::size_t characters) {
  const std::int64_t classes = output.shape[output.shape.rank() - 1];
  const auto most = static_cast<std::int64_t>(characters);
  if (classes == most || classes == most - 1) return;
  throw Error(
      ErrorCode::kMismatch,
      to_text("output '", output.name, "' scores ", classes, " classes, expected ", most - 1,
              " for the blank and each character, or ", most, " with a space at the end"));
}

template <typename Counts>
void add_one(bool equal, Counts& answers) {
  ++answers.all;
  answers.equal += equal ? 1 : 0;
}

template <typename Counts>
void add_all(const Counts& more, Counts& answers) {
  answers.all += more.all;
  answers.equal += more.equal;
}

void add_text(std::span<const std::int64_t> fp32, std::span<const std::int64_t> int8,
              TextAgreement& texts) {
  add_one(std::ranges::equal(fp32, int8), texts);
  texts.characters += std::ssize(fp32);
  texts.edits += edit_distance(fp32, int8);
}

}  // namespace

std::span<const float> sample_part(std::span<const float> all, std::int64_t slot,
                                   std::int64_t batch) {
  const std::size_t size = all.size() / static_cast<std::size_t>(batch);
  return all.subspan(static_cast<std::size_t>(slot) * size, size);
}

std::vector<std::int64_t> best_path(std::span<const float> scores, std::int64_t classes,
                                    std::int64_t blank) {
  std::vector<std::int64_t> text;
  std::int64_t before = blank;
  const auto size = static_cast<std::size_t>(classes);
  for (std::size_t at = 0; at + size <= scores.size(); at += size) {
    const std::span<const float> step = scores.subspan(at, size);
    const std::int64_t best = std::ranges::max_element(step) - step.begin();
    if (best != blank && best != before) text.push_back(best);
    before = best;
  }
  return text;
}

std::optional<std::size_t> BoxAgreement::judged() const {
  if (matches.empty()) return std::nullopt;
  // Entries are sorted by score, then by IoU. The last entry with the first score has the highest
  // IoU.
  const auto end = std::find_if(matches.begin(), matches.end(), [&](const BoxMatch& match) {
    return match.score != matches.front().score;
  });
  return static_cast<std::size_t>(end - matches.begin()) - 1;
}

std::optional<BoxMatch> AnswerAgreement::judged_boxes() const {
  const std::optional<std::size_t> judged = boxes ? boxes->judged() : std::nullopt;
  return judged ? std::optional(boxes->matches[*judged]) : std::nullopt;
}

AnswerReader::AnswerReader(const AnswerOptions& options, const Plan& plan, TensorLayout layout,
                           double lowest_score) {
  const Shape& input = plan.inputs().front().shape;
  batch_ = input.rank() > 0 ? std::max<std::int64_t>(input[0], 1) : 1;
  const ChannelAxis axis = layout == TensorLayout::kNchw ? ChannelAxis::kFirst : ChannelAxis::kLast;
  if (options.boxes) {
    boxes_.emplace(*options.boxes, plan.outputs(), input, axis, lowest_score);
  }
  if (options.mask) mask_.emplace(*options.mask, plan.outputs().front(), axis);
  decision_ = options.decision;
  text_blank_ = options.text_blank;
  if (decision_ || text_blank_) require_floats(plan.outputs().front());
  if (text_blank_) require_steps(plan.outputs().front(), *text_blank_);
  if (text_blank_ && !options.characters.empty()) {
    require_characters(plan.outputs().front(), options.characters.size());
  }
}

Answer AnswerReader::read(std::span<const TensorView> outputs, std::int64_t slot) const {
  Answer answer;
  if (boxes_) answer.boxes = boxes_->read(outputs, slot);
  if (mask_) answer.mask = mask_->read(sample_part(outputs.front().values<float>(), slot, batch_));
  if (decision_) {
    for (const float value : sample_part(outputs.front().values<float>(), slot, batch_)) {
      answer.decisions.push_back(double{value} > *decision_);
    }
  }
  if (text_blank_) {
    const Shape& shape = outputs.front().shape;
    answer.text = best_path(sample_part(outputs.front().values<float>(), slot, batch_),
                            shape[shape.rank() - 1], *text_blank_);
  }
  return answer;
}

void AnswerReader::require_fit(std::span<const TensorView> outputs) const {
  if (boxes_) qtool::require_fit(*boxes_, outputs);
}

AnswerScorer::AnswerScorer(const AnswerOptions& options) {
  if (options.boxes) boxes_.emplace(*options.boxes);
  if (options.mask) mask_.emplace();
  if (options.decision) decisions_.emplace();
  if (options.text_blank) texts_.emplace();
}

AnswerCounts AnswerScorer::add(const Answer& fp32, const Answer& int8) {
  AnswerCounts counts;
  if (boxes_) counts.boxes = boxes_->add(fp32.boxes, int8.boxes);
  if (mask_ && fp32.mask && int8.mask) counts.mask = mask_->add(*fp32.mask, *int8.mask);
  for (std::size_t i = 0; decisions_ && i < fp32.decisions.size(); ++i) {
    add_one(fp32.decisions[i] == int8.decisions[i], *decisions_);
  }
  if (texts_) add_text(fp32.text, int8.text, *texts_);
  return counts;
}

AnswerScorer& AnswerScorer::operator+=(const AnswerScorer& other) {
  if (boxes_ && other.boxes_) *boxes_ += *other.boxes_;
  if (mask_ && other.mask_) *mask_ += *other.mask_;
  if (decisions_ && other.decisions_) add_all(*other.decisions_, *decisions_);
  if (texts_ && other.texts_) {
    add_all(*other.texts_, *texts_);
    texts_->characters += other.texts_->characters;
    texts_->edits += other.texts_->edits;
  }
  return *this;
}

AnswerAgreement AnswerScorer::result() const {
  AnswerAgreement agreement;
  if (boxes_) agreement.boxes = boxes_->result();
  if (mask_) agreement.mask = mask_->result();
  agreement.decisions = decisions_;
  agreement.texts = texts_;
  return agreement;
}

}  // namespace qtool
