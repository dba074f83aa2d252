#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtool/answers/answer.h"
#include "qtool/compare/infer.h"
#include "report/text_table.h"

namespace qtool {

/// `class_names[index]`, or `class 7`.
std::string class_name(std::int64_t index, std::span<const std::string> class_names);

/// The pixels of each class in a mask, the most first; of equally many the lowest class.
std::vector<std::pair<std::int32_t, std::int64_t>> pixels_by_class(const Mask& mask);

/// How far boxes and pixels agree, as text for people; nothing of what was not asked for.
std::string text_of(const AnswerAgreement& agreement, std::size_t width);

/// The boxes and the share of each class of pixels that the models found in one image.
std::string text_of_answers(const InferResult& result, std::span<const std::string> class_names,
                            std::size_t width);

}  // namespace qtool
