#pragma once

#include <optional>

#include "qtool/answers/answer.h"

namespace qtool {

/// The share of the answers that agree with FP32, at most 1. With a mask: the share of the pixels
/// with FP32's class. With boxes: the share of FP32's boxes that are kept, or 1 minus (added boxes
/// / FP32's boxes) if this is smaller; see AnswerAgreement::judged_boxes(). With a mask and boxes:
/// the smaller of the two shares. nullopt without a mask and boxes. Boxes do not count where
/// neither model finds one.
std::optional<double> agreement_of(const AnswerAgreement& answers);
/// The share of the pixels with FP32's class; nullopt without a mask.
std::optional<double> equal_pixels_of(const AnswerAgreement& answers);

}  // namespace qtool
