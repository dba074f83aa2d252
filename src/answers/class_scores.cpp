#include "answers/class_scores.h"

#include <algorithm>

namespace qtool {

std::int64_t class_count(std::span<const PortInfo> outputs, std::int64_t batch) {
  const Shape& scores = outputs.front().shape;
  const std::int64_t rank = scores.rank();
  if (rank < 2 || scores[0] != batch) return 0;
  const std::int64_t classes = scores.elements() / batch;
  if (classes < 2) return 0;  // a single score cannot choose a class
  const bool image_of_one_pixel = rank >= 4 && scores[1] == classes;
  if (scores[rank - 1] != classes && !image_of_one_pixel) return 0;
  const auto has_row_for_each = [&](const PortInfo& output) {
    const Shape& shape = output.shape;
    if (shape.rank() != 3 || shape[0] != batch) return false;
    if (shape[1] != classes && shape[2] != classes) return false;
    const std::int64_t row = shape.elements() / batch / classes;
    return row > 1 && row < classes;  // a state may have as many rows, but long ones
  };
  return std::ranges::any_of(outputs.subspan(1), has_row_for_each) ? 0 : classes;
}

}  // namespace qtool
