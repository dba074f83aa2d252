#include "answers/suppress_boxes.h"

#include <algorithm>

#include "base/box_overlap.h"

namespace qtool {
namespace {

BoxSides<double> sides_of(const Box& box) { return {box.left, box.top, box.right, box.bottom}; }

double area(const BoxSides<double>& box) {
  return std::max(box.right - box.left, 0.0) * std::max(box.bottom - box.top, 0.0);
}

}  // namespace

double intersection_over_union(const Box& a, const Box& b) {
  const BoxSides<double> first = sides_of(a);
  const BoxSides<double> second = sides_of(b);
  const double shared = shared_area(first, second);
  const double all = area(first) + area(second) - shared;
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
