#include "answers/suppress_boxes.h"

#include <algorithm>

namespace qtool {
namespace {

double area(const Box& box) {
  const double width = static_cast<double>(box.right) - static_cast<double>(box.left);
  const double height = static_cast<double>(box.bottom) - static_cast<double>(box.top);
  return std::max(width, 0.0) * std::max(height, 0.0);
}

}  // namespace

double intersection_over_union(const Box& a, const Box& b) {
  const Box common{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                   std::min(a.bottom, b.bottom)};
  const double shared = area(common);
  const double all = area(a) + area(b) - shared;
  return all > 0.0 ? shared / all : 0.0;
}

std::vector<Box> suppress(std::span<const Box> boxes, double most_iou) {
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    if (std::ssize(kept) == kMaxBoxes) break;
    const bool covered = std::ranges::any_of(kept, [&](const Box& better) {
      return better.label == box.label && intersection_over_union(better, box) > most_iou;
    });
    if (!covered) kept.push_back(box);
  }
  return kept;
}

}  // namespace qtool
