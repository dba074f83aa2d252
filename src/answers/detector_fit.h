#pragma once

#include <span>

#include "answers/box_decoder.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Checks that the numbers of one image can be those that `decoder` expects, whatever is in the
/// image. A detector of another family often has outputs of a fitting shape, and then gives boxes
/// that mean nothing. Throws Error(kMismatch), with the range that was found and the one that was
/// expected:
/// - scores that pass no function must be probabilities;
/// - most rows must have corners within kFarthestCorner pixels;
/// - the rows of a detector without a grid, if there are many, have their centres all over the
///   input and not within a tenth of it.
/// Numbers that are not finite say nothing, and pass. `outputs` are those of FP32 for one image.
/// Cost: O(rows * classes).
void require_fit(const BoxDecoder& decoder, std::span<const TensorView> outputs);

}  // namespace qtool
