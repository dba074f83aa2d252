#include "answers/coco_scorer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/box_overlap.h"

namespace qtool {
namespace {

constexpr std::size_t kRecalls = 101;
constexpr double kSmall = 32.0 * 32.0;
constexpr double kMedium = 96.0 * 96.0;

struct AreaRange {
  double low = 0.0;
  double high = 1e10;
  [[nodiscard]] bool holds(double area) const { return area >= low && area <= high; }
};
constexpr std::array<AreaRange, kCocoAreas> kRanges{
    {{0.0, 1e10}, {0.0, kSmall}, {kSmall, kMedium}, {kMedium, 1e10}}};

// The numbers of numpy.linspace(), to the last bit: a recall of 35 of 100 is below the threshold
// 35 * 0.01, which is 0.35000000000000003.
double recall_at(std::size_t i) { return static_cast<double>(i) * 0.01; }

double iou_at(std::size_t i) {
  return i + 1 == kCocoIous ? 0.95 : 0.5 + static_cast<double>(i) * ((0.95 - 0.5) / 9.0);
}

// For both kinds of boxes.
template <typename SizedBox>
BoxSides<double> outline_of(const SizedBox& box) {
  return {box.left, box.top, box.left + box.width, box.top + box.height};
}

double overlap_of(const FoundBox& box, const AnnotatedBox& truth) {
  const double common = shared_area(outline_of(box), outline_of(truth));
  if (common <= 0.0) return 0.0;
  const double own = box.width * box.height;
  return common / (truth.crowd ? own : own + truth.width * truth.height - common);
}

/// The boxes of one image and one category.
struct Pairing {
  std::vector<const AnnotatedBox*> truths;
  std::vector<const FoundBox*> found;         // best first
  std::vector<std::vector<double>> overlaps;  // [found][truth]
};

// Matches for one range of areas and one IoU, and writes bit `bit` of the result.
void match_at(const Pairing& pairing, const std::vector<std::size_t>& order,
              const std::vector<bool>& ignored, std::size_t range, std::size_t bit,
              CocoMatches& matches) {
  constexpr double kBelowOne = 1.0 - 1e-10;
  const auto mask = static_cast<std::uint16_t>(1U << bit);
  std::vector<bool> taken(pairing.truths.size());
  for (std::size_t d = 0; d < pairing.found.size(); ++d) {
    double best = std::min(iou_at(bit), kBelowOne);
    std::size_t match = order.size();
    for (const std::size_t g : order) {
      if (taken[g] && !pairing.truths[g]->crowd) continue;
      // The ignored ones come last. They do not replace an object that counts.
      if (match < order.size() && !ignored[match] && ignored[g]) break;
      if (pairing.overlaps[d][g] < best) continue;
      best = pairing.overlaps[d][g];
      match = g;
    }
    CocoMatches::Found& found = matches.found[d];
    const auto set = [&](std::uint16_t& bits) { bits = static_cast<std::uint16_t>(bits | mask); };
    if (match < order.size()) {
      taken[match] = true;
      set(found.hit[range]);
      if (ignored[match]) set(found.ignored[range]);
    } else if (const FoundBox& box = *pairing.found[d];
               !kRanges[range].holds(box.width * box.height)) {
      set(found.ignored[range]);
    }
  }
}

CocoMatches matches_of(std::int64_t category, Pairing pairing) {
  std::ranges::stable_sort(pairing.found, std::ranges::greater(), &FoundBox::score);
  if (pairing.found.size() > kCocoBoxes) pairing.found.resize(kCocoBoxes);
  CocoMatches matches;
  matches.category = category;
  for (const FoundBox* box : pairing.found) {
    matches.found.push_back({box->score, {}, {}});
    std::vector<double>& overlaps = pairing.overlaps.emplace_back();
    for (const AnnotatedBox* truth : pairing.truths) overlaps.push_back(overlap_of(*box, *truth));
  }
  for (std::size_t range = 0; range < kCocoAreas; ++range) {
    std::vector<bool> ignored;
    for (const AnnotatedBox* truth : pairing.truths) {
      ignored.push_back(truth->crowd || !kRanges[range].holds(truth->area));
      if (!ignored.back()) ++matches.truths[range];
    }
    std::vector<std::size_t> order(pairing.truths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(order.begin(), order.end(), [&](std::size_t g) { return !ignored[g]; });
    for (std::size_t bit = 0; bit < kCocoIous; ++bit) {
      match_at(pairing, order, ignored, range, bit, matches);
    }
  }
  return matches;
}

/// A mean of what there is.
struct Average {
  double sum = 0.0;
  std::int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] std::optional<double> value() const {
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
  }
};

/// All images of one category.
struct CocoCategory {
  std::array<std::int64_t, kCocoAreas> truths{};
  std::vector<const CocoMatches::Found*> found{};  // best first
};

/// The curve of precision over recall at one IoU.
struct PrecisionCurve {
  double mean_precision = 0.0;  // over the recalls
  double recall = 0.0;          // with all boxes
};

PrecisionCurve curve_of(const CocoCategory& category, std::size_t range, std::size_t bit) {
  const auto mask = static_cast<std::uint16_t>(1U << bit);
  const auto truths = static_cast<double>(category.truths[range]);
  std::vector<double> recall;
  std::vector<double> precision;
  double right = 0.0;
  double wrong = 0.0;
  for (const CocoMatches::Found* found : category.found) {
    if ((found->ignored[range] & mask) == 0) {
      ((found->hit[range] & mask) != 0 ? right : wrong) += 1.0;
    }
    recall.push_back(right / truths);
    precision.push_back(right / (right + wrong + std::numeric_limits<double>::epsilon()));
  }
  for (std::size_t i = precision.size(); i-- > 1;) {
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  }
  PrecisionCurve curve;
  if (!recall.empty()) curve.recall = recall.back();
  std::size_t at = 0;
  for (std::size_t i = 0; i < kRecalls; ++i) {
    while (at < recall.size() && recall[at] < recall_at(i)) ++at;
    if (at == recall.size()) break;  // no box reaches this recall: the precision is 0
    curve.mean_precision += precision[at] / static_cast<double>(kRecalls);
  }
  return curve;
}

}  // namespace

std::vector<CocoMatches> match_annotated(std::span<const AnnotatedBox> truths,
                                         std::span<const FoundBox> found) {
  std::map<std::int64_t, Pairing> pairings;
  for (const AnnotatedBox& truth : truths) pairings[truth.category].truths.push_back(&truth);
  for (const FoundBox& box : found) pairings[box.category].found.push_back(&box);
  std::vector<CocoMatches> matches;
  for (auto& [category, pairing] : pairings) {
    matches.push_back(matches_of(category, std::move(pairing)));
  }
  return matches;
}

AnnotatedPrecision precision_of(std::span<const std::vector<CocoMatches>* const> images,
                                CocoFigures figures) {
  std::map<std::int64_t, CocoCategory> categories;
  for (const std::vector<CocoMatches>* image : images) {
    for (const CocoMatches& matches : *image) {
      CocoCategory& category = categories[matches.category];
      for (std::size_t range = 0; range < kCocoAreas; ++range) {
        category.truths[range] += matches.truths[range];
      }
      for (const CocoMatches::Found& found : matches.found) category.found.push_back(&found);
    }
  }
  std::array<Average, kCocoAreas> means;
  Average iou50;
  Average iou75;
  Average recall;
  const std::size_t ranges = figures == CocoFigures::kAll ? kCocoAreas : 1;
  for (auto& [index, category] : categories) {
    std::ranges::stable_sort(category.found, std::ranges::greater(), &CocoMatches::Found::score);
    for (std::size_t range = 0; range < ranges; ++range) {
      if (category.truths[range] == 0) continue;
      for (std::size_t bit = 0; bit < kCocoIous; ++bit) {
        const PrecisionCurve curve = curve_of(category, range, bit);
        means[range].add(curve.mean_precision);
        if (range > 0) continue;
        recall.add(curve.recall);
        if (bit == 0) iou50.add(curve.mean_precision);
        if (bit == 5) iou75.add(curve.mean_precision);
      }
    }
  }
  AnnotatedPrecision precision;
  precision.all = means[0].value();
  if (figures == CocoFigures::kOnlyMean) return precision;
  precision.iou50 = iou50.value();
  precision.iou75 = iou75.value();
  precision.small = means[1].value();
  precision.medium = means[2].value();
  precision.large = means[3].value();
  precision.recall = recall.value();
  return precision;
}

}  // namespace qtool
