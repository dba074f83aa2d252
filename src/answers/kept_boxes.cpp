#include "answers/kept_boxes.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "answers/box_decoder.h"
#include "answers/suppress_boxes.h"

namespace qtool {
namespace {

constexpr double kIous[] = {0.5, 0.7};

/// The number of boxes in a ranking with at least a certain score, and how many of them are right.
struct RankedCount {
  std::int64_t boxes = 0;
  std::int64_t hits = 0;
};

// The area under the curve of precision over recall. The precision at a recall is the best
// precision at this recall or any higher one. Source: Everingham et al., The PASCAL Visual Object
// Classes Challenge, from 2010 on.
double average_precision(const std::vector<RankedCount>& counts, std::int64_t truths) {
  double area = 0.0;
  double best = 0.0;
  for (std::size_t i = counts.size(); i-- > 0;) {
    const RankedCount& count = counts[i];
    best = std::max(best, static_cast<double>(count.hits) / static_cast<double>(count.boxes));
    const std::int64_t before = i == 0 ? 0 : counts[i - 1].hits;
    area += best * static_cast<double>(count.hits - before);
  }
  return area / static_cast<double>(truths);
}

bool reaches(const Box& box, double score) { return static_cast<double>(box.score) >= score; }

}  // namespace

std::vector<std::int64_t> match_boxes(std::span<const Box> fp32, std::span<const Box> int8,
                                      double least_iou, double least_score) {
  std::vector<bool> free(fp32.size());
  for (std::size_t i = 0; i < fp32.size(); ++i) free[i] = reaches(fp32[i], least_score);
  std::vector<std::int64_t> partners;
  for (const Box& box : int8) {
    double highest = 0.0;
    std::int64_t partner = -1;
    for (std::size_t i = 0; i < fp32.size(); ++i) {
      if (!free[i] || fp32[i].label != box.label) continue;
      const double iou = intersection_over_union(fp32[i], box);
      if (iou < least_iou || iou <= highest) continue;
      highest = iou;
      partner = static_cast<std::int64_t>(i);
    }
    if (partner >= 0) free[static_cast<std::size_t>(partner)] = false;
    partners.push_back(partner);
  }
  return partners;
}

KeptBoxScorer::KeptBoxScorer(const Detector& detector) {
  sums_.detector = detector.name;
  sums_.nms_iou = detector.nms_iou;
  floor_ = static_cast<float>(std::min(kRankedScore, detector.thresholds.front()));
  for (const double score : detector.thresholds) {
    for (const double iou : kIous) {
      Tally tally;
      tally.match.score = score;
      tally.match.iou = iou;
      tallies_.push_back(std::move(tally));
    }
  }
}

std::vector<BoxCounts> KeptBoxScorer::add(std::span<const Box> fp32, std::span<const Box> int8) {
  ++sums_.images;
  // Boxes come best first, so that those at the end take no match from others.
  while (!int8.empty() && int8.back().score < floor_) int8 = int8.first(int8.size() - 1);
  std::vector<BoxCounts> counts;
  for (Tally& tally : tallies_) counts.push_back(add(fp32, int8, tally));
  return counts;
}

// Boxes come best first, so those below the threshold cannot take a match from one above it.
BoxCounts KeptBoxScorer::add(std::span<const Box> fp32, std::span<const Box> int8, Tally& tally) {
  BoxMatch& match = tally.match;
  BoxCounts counts;
  for (const Box& box : fp32) {
    if (!reaches(box, match.score)) continue;
    ++counts.fp32;
    ++tally.truths[box.label];
  }
  const std::vector<std::int64_t> partners = match_boxes(fp32, int8, match.iou, match.score);
  for (std::size_t i = 0; i < int8.size(); ++i) {
    const bool hit = partners[i] >= 0;
    tally.ranked.push_back({int8[i].label, int8[i].score, hit});
    if (!reaches(int8[i], match.score)) continue;
    ++counts.int8;
    if (hit) ++counts.kept;
  }
  match.fp32 += counts.fp32;
  match.int8 += counts.int8;
  match.kept += counts.kept;
  return counts;
}

KeptBoxScorer& KeptBoxScorer::operator+=(const KeptBoxScorer& other) {
  sums_.images += other.sums_.images;
  for (std::size_t i = 0; i < std::min(tallies_.size(), other.tallies_.size()); ++i) {
    Tally& to = tallies_[i];
    const Tally& from = other.tallies_[i];
    to.match.fp32 += from.match.fp32;
    to.match.int8 += from.match.int8;
    to.match.kept += from.match.kept;
    for (const auto& [label, count] : from.truths) to.truths[label] += count;
    to.ranked.insert(to.ranked.end(), from.ranked.begin(), from.ranked.end());
  }
  return *this;
}

BoxAgreement KeptBoxScorer::result() const {
  BoxAgreement agreement = sums_;
  for (const Tally& tally : tallies_) {
    BoxMatch match = tally.match;
    std::vector<Ranked> ranked = tally.ranked;
    std::ranges::sort(ranked, [](const Ranked& a, const Ranked& b) {
      return std::tuple(a.label, -a.score) < std::tuple(b.label, -b.score);
    });
    double sum = 0.0;
    auto at = ranked.begin();
    for (const auto& [label, truths] : tally.truths) {
      while (at != ranked.end() && at->label < label) ++at;
      std::vector<RankedCount> counts;  // one for each different score
      RankedCount count;
      for (; at != ranked.end() && at->label == label; ++at) {
        ++count.boxes;
        if (at->hit) ++count.hits;
        const auto next = at + 1;
        if (next == ranked.end() || next->label != label || next->score != at->score) {
          counts.push_back(count);
        }
      }
      sum += average_precision(counts, truths);
    }
    if (!tally.truths.empty()) {
      match.mean_average_precision = sum / static_cast<double>(tally.truths.size());
    }
    agreement.matches.push_back(match);
  }
  return agreement;
}

}  // namespace qtool
