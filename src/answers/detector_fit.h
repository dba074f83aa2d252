#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "answers/box_decoder.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Says what is wrong with the numbers of one image for `detector`, whatever is in the image. A
/// detector of another family often has outputs of a fitting shape, and then gives boxes that mean
/// nothing. The sentence has the range that was found and the one that was expected; nothing is
/// wrong if these hold:
/// - scores that pass no function are probabilities;
/// - most rows have corners within kFarthestCorner pixels;
/// - the rows of a detector without a grid, if there are many, have their centres all over the
///   input and not within a tenth of it.
/// Numbers that are not finite say nothing, and pass. `survey`: of the outputs of FP32.
std::optional<std::string> misfit_of(const Detector& detector, const BoxSurvey& survey);

/// Throws Error(kMismatch) that says what misfit_of() finds in the outputs of FP32 for one image.
/// Cost: O(rows * classes).
void require_fit(const BoxDecoder& decoder, std::span<const TensorView> outputs);

/// The length that holds the middle 90 % of the values; there must be some.
double spread_of(std::vector<float> values);

}  // namespace qtool
