// NonMaxSuppression: keeps the box with the highest score among boxes that overlap.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/box_overlap.h"
#include "base/stop.h"
#include "ops/computed.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"

namespace qtool {
namespace {

using NmsBox = BoxSides<float>;

NmsBox box_of(const float* corners, bool by_center) {
  const auto [a, b, c, d] = std::to_array({corners[0], corners[1], corners[2], corners[3]});
  if (by_center) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};       // x, y, width, height
  return {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c)};  // y1, x1, y2, x2
}

float area_of(const NmsBox& box) { return (box.bottom - box.top) * (box.right - box.left); }

// Intersection over union.
float overlap(const NmsBox& a, const NmsBox& b) {
  const float both = shared_area(a, b);
  return both > 0 ? both / (area_of(a) + area_of(b) - both) : 0;
}

struct NmsLimits {
  std::int64_t most_boxes = 0;  // per class
  float overlap = 0;
  float score = 0;
  bool has_score = false;
};

template <typename T>
T single(const OpContext& op, std::size_t input, std::string_view what) {
  require_single(op, input, what);
  return deciding_constant(op, input).values<T>()[0];
}

NmsLimits limits_of(const OpContext& op) {
  NmsLimits limits;
  if (op.has_input(2)) {
    require_dtype_in(op, 2, {DType::kInt64});
    limits.most_boxes = single<std::int64_t>(op, 2, "the number of boxes");
  }
  if (op.has_input(3)) {
    require_type(op, 3, FloatType{});
    limits.overlap = single<float>(op, 3, "the threshold of the overlap");
  }
  limits.has_score = op.has_input(4);
  if (limits.has_score) {
    require_type(op, 4, FloatType{});
    limits.score = single<float>(op, 4, "the threshold of the scores");
  }
  op.require(limits.overlap >= 0 && limits.overlap <= 1,
             to_text("the threshold of the overlap is ", limits.overlap, ", expected 0 to 1"));
  return limits;
}

std::vector<Tensor> suppress(const OpContext& op) {
  require_type(op, 0, FloatType{});
  require_type(op, 1, FloatType{});
  const Shape& boxes = op.input(0).shape;
  const Shape& scores = op.input(1).shape;
  op.require(boxes.rank() == 3 && boxes[2] == 4 && scores.rank() == 3 && scores[0] == boxes[0] &&
                 scores[2] == boxes[1],
             to_text("boxes of shape ", boxes.to_string(), " and scores of shape ",
                     scores.to_string(), ", expected [batch, n, 4] and [batch, classes, n]"));
  const NmsLimits limits = limits_of(op);
  const bool by_center = op.node.get_int("center_point_box", 0) != 0;
  const std::span<const float> corners = deciding_constant(op, 0).values<float>();
  const std::span<const float> values = deciding_constant(op, 1).values<float>();
  std::vector<std::int64_t> selected;  // batch, class, box
  // A file without boxes may declare so many classes that a loop over them would take too long.
  const bool any = limits.most_boxes > 0 && scores.elements() > 0;
  const std::int64_t rows = any ? Shape{scores[0], scores[1]}.elements() : 0;
  StopPace pace;
  for (std::int64_t row = 0; row < rows; ++row) {
    pace.step(scores[2]);
    const std::int64_t batch = row / scores[1];
    const auto score = [&](std::int64_t box) {
      return values[static_cast<std::size_t>(row * scores[2] + box)];
    };
    const auto box = [&](std::int64_t i) {
      return box_of(&corners[static_cast<std::size_t>((batch * boxes[1] + i) * 4)], by_center);
    };
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < scores[2]; ++i) {
      const bool is_number = score(i) == score(i);
      if (is_number && (!limits.has_score || score(i) > limits.score)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
    std::vector<NmsBox> kept;
    for (const std::int64_t i : order) {
      pace.step(1 + std::ssize(kept));
      if (std::ssize(kept) >= limits.most_boxes) break;
      const NmsBox candidate = box(i);
      const bool hidden = std::any_of(kept.begin(), kept.end(), [&](const NmsBox& other) {
        return overlap(candidate, other) > limits.overlap;
      });
      if (hidden) continue;
      kept.push_back(candidate);
      selected.insert(selected.end(), {batch, row % scores[1], i});
    }
  }
  std::vector<Tensor> results;
  results.push_back(Tensor::of<std::int64_t>({std::ssize(selected) / 3, 3},
                                             std::span<const std::int64_t>(selected)));
  return results;
}

}  // namespace

OpDef op_NonMaxSuppression() {
  return computed_row([](const OpContext& op) { return suppress(op); });
}

}  // namespace qtool
