#include "compare/kept_counts.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <utility>

#include "compare/intervals.h"

namespace qtool {
namespace {

// The share that value `k` of the sums has of their first value. `part` of `all`: in all samples.
std::optional<Interval> share_interval(std::span<const double> values, std::size_t per_sample,
                                       std::size_t k, std::int64_t part, std::int64_t all) {
  const std::optional<Interval> images = bootstrap_interval(
      values, per_sample, [&](std::span<const double> sums) { return sums[k] / sums[0]; });
  if (!images || part > all) return images;
  const std::optional<Interval> single = wilson_interval(part, all);
  if (!single) return std::nullopt;
  return Interval{std::min(images->low, single->low), std::max(images->high, single->high)};
}

// `sums`: [class, pixels of both models and of either]. Classes that are not in the drawn samples
// do not count, as in MaskAgreement::mean_iou().
double mean_of_ious(std::span<const double> sums) {
  double total = 0.0;
  double classes = 0.0;
  for (std::size_t k = 0; k < sums.size(); k += 2) {
    if (sums[k + 1] <= 0.0) continue;
    total += sums[k] / sums[k + 1];
    classes += 1.0;
  }
  return total / classes;
}

// The place of each label among `classes`, which are ascending and not negative.
std::vector<std::size_t> places_of(std::span<const ClassPixels> classes) {
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    places.resize(static_cast<std::size_t>(classes[k].label) + 1);
    places.back() = k;
  }
  return places;
}

}  // namespace

void KeptCounts::keep(std::size_t sample, AnswerCounts counts) {
  if (counts.mask) {
    std::vector<ClassPixels>& classes = counts.mask->classes;
    const std::int64_t size = std::ssize(classes);
    const std::int64_t before = std::atomic_ref(class_counts_).fetch_add(size);
    if (before + size > most_class_counts_) classes = std::vector<ClassPixels>();
  }
  counts_[sample] = std::move(counts);
}

void KeptCounts::write_intervals(AnswerAgreement& all) const {
  if (all.boxes) {
    std::vector<BoxMatch>& matches = all.boxes->matches;
    for (std::size_t k = 0; k < matches.size(); ++k) write_intervals(k, matches[k]);
  }
  if (all.mask) write_intervals(*all.mask);
}

void KeptCounts::write_intervals(std::size_t k, BoxMatch& match) const {
  std::vector<double> values;  // [image, FP32's, kept and added]
  for (const AnswerCounts& counts : counts_) {
    if (k >= counts.boxes.size()) continue;
    const BoxCounts& boxes = counts.boxes[k];
    values.insert(values.end(), {static_cast<double>(boxes.fp32), static_cast<double>(boxes.kept),
                                 static_cast<double>(boxes.int8 - boxes.kept)});
  }
  match.kept_interval = share_interval(values, 3, 1, match.kept, match.fp32);
  match.added_interval = share_interval(values, 3, 2, match.added(), match.fp32);
}

void KeptCounts::write_intervals(MaskAgreement& all) const {
  std::vector<const MaskAgreement*> masks;  // of the images that have one
  std::vector<double> pixels;               // [image, all and equal]
  std::size_t values = 0;                   // of all images
  for (const AnswerCounts& counts : counts_) {
    if (!counts.mask) continue;
    masks.push_back(&*counts.mask);
    values += 2 * counts.mask->classes.size();
    pixels.insert(pixels.end(), {static_cast<double>(counts.mask->pixels),
                                 static_cast<double>(counts.mask->equal)});
  }
  all.equal_interval = share_interval(pixels, 2, 1, all.equal, all.pixels);
  all.too_many_counts = class_counts_ > most_class_counts_;
  const std::optional<double> iou = all.mean_iou();
  if (all.too_many_counts || !iou) return;
  const std::vector<std::size_t> places = places_of(all.classes);
  const auto add = [&](std::size_t image, std::span<double> sums) {
    for (const ClassPixels& one : masks[image]->classes) {
      const std::size_t k = 2 * places[static_cast<std::size_t>(one.label)];
      sums[k] += static_cast<double>(one.both);
      sums[k + 1] += static_cast<double>(one.fp32 + one.int8 - one.both);
    }
  };
  all.mean_iou_interval =
      bootstrap_interval(masks.size(), 2 * all.classes.size(), values, add, mean_of_ious);
  if (!all.mean_iou_interval) return;
  // With many classes that are in one image each, most draws have fewer classes, and all their
  // means may lie on one side of the figure.
  Interval& interval = *all.mean_iou_interval;
  interval = {std::min(interval.low, *iou), std::max(interval.high, *iou)};
}

}  // namespace qtool
