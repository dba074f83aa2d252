#include "analyze/set_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "quant/density.h"

namespace qtool {
namespace {

constexpr std::int64_t kHalves = 2;

// The calibration of one half of the samples.
struct Half {
  Collection collection;
  std::map<std::string_view, const ActivationEntry*> entries;  // entries of `table`, by tensor
  CalibrationTable table;
};

double sqnr_of(const TensorStatistics& tensor, const Affine& affine, const Limits& limits) {
  return Density(tensor.statistics.histogram()).effect(affine, limits).sqnr_db();
}

// The range of a tensor in one sample, widened to contain 0.
struct SampleRange {
  double low = 0.0;
  double high = 0.0;
};

// The ranges of all tensors in all samples. A sample that was left out has none.
class SampleRanges {
 public:
  SampleRanges(const std::array<Half, kHalves>& halves, std::int64_t samples)
      : present_(static_cast<std::size_t>(samples)) {
    for (std::size_t t = 0; t < halves[0].collection.tensors.size(); ++t) {
      std::vector<SampleRange> ranges(present_.size());
      for (std::size_t h = 0; h < halves.size(); ++h) {
        for (const ImageExtremes& image :
             halves[h].collection.tensors[t].statistics.image_extremes()) {
          const auto sample = static_cast<std::size_t>(kHalves * image.image) + h;
          if (sample >= present_.size()) continue;
          present_[sample] = true;
          ranges[sample] = {std::min(0.0, double{image.min}), std::max(0.0, double{image.max})};
        }
      }
      names_.push_back(halves[0].collection.tensors[t].tensor);
      ranges_.push_back(std::move(ranges));
    }
  }

  [[nodiscard]] std::vector<RangeSetter> setters() const {
    std::vector<RangeSetter> found(present_.size());
    for (std::size_t t = 0; t < ranges_.size(); ++t) {
      const Extremes low = extremes(t, [](const SampleRange& range) { return -range.low; });
      const Extremes high = extremes(t, [](const SampleRange& range) { return range.high; });
      const double width = low.first + high.first;
      for (const std::size_t i : {low.sample, high.sample}) {
        const double without = (i == low.sample ? low.second : low.first) +
                               (i == high.sample ? high.second : high.first);
        const double widening = without > 0.0 ? width / without : 1.0;
        if (widening < kMinWidening) continue;
        RangeSetter& setter = found[i];
        setter.sample = static_cast<std::int64_t>(i);
        ++setter.tensors;
        if (widening > setter.widening) {
          setter.widening = widening;
          setter.widest = names_[t];
        }
        if (low.sample == high.sample) break;  // one sample sets both ends
      }
    }
    std::erase_if(found, [](const RangeSetter& setter) { return setter.tensors == 0; });
    std::ranges::stable_sort(found, std::ranges::greater(), &RangeSetter::tensors);
    return found;
  }

  [[nodiscard]] std::vector<Twins> twins() const {
    const std::vector<std::vector<float>> features = normalized();
    std::vector<Twins> found;
    for (std::size_t a = 0; a < features.size(); ++a) {
      for (std::size_t b = a + 1; b < features.size(); ++b) {
        if (!present_[a] || !present_[b]) continue;
        const std::optional<double> distance = distance_of(a, b, features[a], features[b]);
        if (!distance || *distance > kMaxTwinDistance) continue;
        found.push_back({static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), *distance});
      }
    }
    std::ranges::stable_sort(found, {}, &Twins::distance);
    return found;
  }

  [[nodiscard]] std::int64_t count() const { return std::ranges::count(present_, true); }

 private:
  // The two highest values, and the sample with the highest one.
  struct Extremes {
    double first = 0.0;
    double second = 0.0;
    std::size_t sample = 0;
  };

  template <typename Bound>
  [[nodiscard]] Extremes extremes(std::size_t tensor, const Bound& bound) const {
    Extremes found;
    for (std::size_t i = 0; i < present_.size(); ++i) {
      if (!present_[i]) continue;
      const double value = bound(ranges_[tensor][i]);
      if (value > found.first) {
        found = {value, found.first, i};
      } else {
        found.second = std::max(found.second, value);
      }
    }
    return found;
  }

  // The distance between two samples. It is 0 for copies, even if nothing varies in the whole set,
  // for example in a folder with copies of one image. nullopt where too few bounds vary to tell
  // samples apart.
  [[nodiscard]] std::optional<double> distance_of(std::size_t a, std::size_t b,
                                                  const std::vector<float>& features_a,
                                                  const std::vector<float>& features_b) const {
    if (are_equal(a, b)) return 0.0;
    if (features_a.size() < kMinTwinBounds) return std::nullopt;
    double sum = 0.0;
    for (std::size_t k = 0; k < features_a.size(); ++k) {
      const double d = double{features_a[k]} - double{features_b[k]};
      sum += d * d;
    }
    return std::sqrt(sum / static_cast<double>(features_a.size()));
  }

  [[nodiscard]] bool are_equal(std::size_t a, std::size_t b) const {
    std::size_t equal = 0;
    for (const std::vector<SampleRange>& ranges : ranges_) {
      if (ranges[a].low != ranges[b].low || ranges[a].high != ranges[b].high) return false;
      equal += (ranges[a].low != 0.0 ? 1U : 0U) + (ranges[a].high != 0.0 ? 1U : 0U);
    }
    return equal >= kMinEqualBounds;
  }

  // For each sample, the bounds of all tensors, each divided by its standard deviation over the
  // samples.
  [[nodiscard]] std::vector<std::vector<float>> normalized() const {
    const auto samples = std::min(present_.size(), static_cast<std::size_t>(kMaxTwinSamples));
    std::vector<std::vector<float>> features(samples);
    for (const std::vector<SampleRange>& ranges : ranges_) {
      for (const auto bound : {&SampleRange::low, &SampleRange::high}) {
        double count = 0.0;
        double sum = 0.0;
        double squares = 0.0;
        for (std::size_t i = 0; i < samples; ++i) {
          if (!present_[i]) continue;
          count += 1.0;
          sum += ranges[i].*bound;
          squares += ranges[i].*bound * (ranges[i].*bound);
        }
        const double variance = count > 0.0 ? squares / count - sum / count * (sum / count) : 0.0;
        // A bound with a smaller variance is the same for all samples, except for the last bits.
        if (!(variance > 1e-12 * squares)) continue;
        for (std::size_t i = 0; i < samples; ++i) {
          features[i].push_back(static_cast<float>(ranges[i].*bound / std::sqrt(variance)));
        }
      }
    }
    return features;
  }

  std::vector<std::string> names_;
  std::vector<std::vector<SampleRange>> ranges_;  // [tensor][sample]
  std::vector<bool> present_;
};

std::vector<RangeMove> moves_of(const std::array<Half, kHalves>& halves, const Limits& limits) {
  std::vector<RangeMove> moves;
  for (std::size_t t = 0; t < halves[0].collection.tensors.size(); ++t) {
    const TensorStatistics& a = halves[0].collection.tensors[t];
    const TensorStatistics& b = halves[1].collection.tensors[t];
    const auto entry_a = halves[0].entries.find(a.tensor);
    const auto entry_b = halves[1].entries.find(b.tensor);
    if (entry_a == halves[0].entries.end() || entry_b == halves[1].entries.end()) continue;
    const Affine& affine_a = entry_a->second->affine;
    const Affine& affine_b = entry_b->second->affine;
    RangeMove move;
    move.tensor = a.tensor;
    const double larger = std::max(affine_a.scale, affine_b.scale);
    move.move = std::abs(double{affine_a.scale} - double{affine_b.scale}) / larger;
    const double loss = sqnr_of(a, affine_a, limits) - sqnr_of(a, affine_b, limits) +
                        sqnr_of(b, affine_b, limits) - sqnr_of(b, affine_a, limits);
    if (std::isfinite(loss)) move.loss_db = loss / 2.0;
    moves.push_back(std::move(move));
  }
  std::ranges::stable_sort(moves, std::ranges::greater(), &RangeMove::loss_db);
  return moves;
}

}  // namespace

std::int64_t SetCheck::moved() const {
  return std::ranges::count_if(moves, [](const RangeMove& move) { return move.move > kMinMove; });
}

double SetCheck::loss_db(double share) const {
  if (moves.empty()) return 0.0;
  const auto beyond = static_cast<std::size_t>((1.0 - share) * static_cast<double>(moves.size()));
  return moves[std::min(beyond, moves.size() - 1)].loss_db;
}

bool SetCheck::is_enough() const {
  return !is_full_of_copies() && expected_loss_db(0.5) <= kMaxMedianLossDb &&
         expected_loss_db(0.95) <= kMaxTailLossDb;
}

SetCheck check_set(const Calibration& calibration, const Target& target, const Samples& samples) {
  if (samples.size() < kFewestToCheck) {
    throw Error(ErrorCode::kUsage,
                to_text("found ", samples.size(), " ", samples.noun(), "s, expected at least ",
                        kFewestToCheck, ": two halves of two each"));
  }
  std::array<Half, kHalves> halves;
  SetCheck check;
  for (std::size_t h = 0; h < halves.size(); ++h) {
    Half& half = halves[h];
    half.collection = calibration.collect(samples.part(static_cast<std::int64_t>(h), kHalves));
    half.table = calibration.decide(half.collection);
    for (const ActivationEntry& entry : half.table.activations) {
      half.entries.emplace(entry.tensor, &entry);
    }
    check.bad.insert(check.bad.end(), half.collection.bad.begin(), half.collection.bad.end());
  }
  const SampleRanges ranges(halves, samples.size());
  check.samples = halves[0].collection.image_count + halves[1].collection.image_count;
  check.moves = moves_of(halves, limits_of(target.activations));
  check.setters = ranges.setters();
  check.twins = ranges.twins();
  // A sample is a copy when an earlier one is its twin.
  std::set<std::int64_t> copies;
  for (const Twins& twins : check.twins) copies.insert(twins.second);
  check.distinct = check.samples - std::ssize(copies);
  return check;
}

}  // namespace qtool
