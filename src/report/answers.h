#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtool/answers/annotations.h"
#include "qtool/answers/answer.h"
#include "qtool/compare/infer.h"
#include "report/text_table.h"

namespace qtool {

/// `class_names[index]`, or `class 7`.
std::string class_name(std::int64_t index, std::span<const std::string> class_names);

/// Each class in a mask with its number of pixels, the largest number first. Classes with equal
/// numbers are in ascending order.
std::vector<std::pair<std::int32_t, std::int64_t>> pixels_by_class(const Mask& mask);

/// How far boxes, pixels, decisions and texts agree, as text for people. A kind of answer that was
/// not asked for is left out.
std::string text_of(const AnswerAgreement& agreement, std::size_t width);

/// By what the categories became classes, and the average precision of both models against
/// annotations, a line for each figure.
std::string text_of(const BoxAccuracy& accuracy, std::size_t width);

/// The boxes and the share of each class of pixels that the models found in one image, and how far
/// the models agree.
std::string text_of_answers(const InferResult& result, std::span<const std::string> class_names,
                            std::size_t width);

}  // namespace qtool
