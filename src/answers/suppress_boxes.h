#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtool/answers/answer.h"

namespace qtool {

/// Suppression keeps at most this number of boxes.
inline constexpr std::int64_t kMaxBoxes = 300;

/// Area of the intersection over area of the union, in double; 0 for two boxes without area.
double intersection_over_union(const Box& a, const Box& b);

/// Greedy non-maximum suppression within each class. `boxes` are sorted, best first. A box is kept
/// unless a kept box of its class overlaps it with an IoU above `most_iou`. Stops after kMaxBoxes
/// kept boxes.
/// Cost: O(boxes * kept).
std::vector<Box> suppress(std::span<const Box> boxes, double most_iou);

}  // namespace qtool
