#include "calib/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "calib/image_observer.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void Statistics::observe(const TensorView& tensor, std::int64_t first_image, Counting counting) {
  const std::int64_t rank = tensor.shape.rank();
  if (tensor.dtype != DType::kFloat32 || rank < 2 || rank > 5) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("statistics: found ", name_of(tensor.dtype), " ", tensor.shape.to_string(),
                        ", expected float32 of rank 2 to 5"));
  }
  const std::int64_t width = tensor.shape[1];
  std::int64_t inner = 1;
  for (std::int64_t axis = 2; axis < rank; ++axis) inner *= tensor.shape[axis];
  if (tensor.shape.elements() == 0) return;
  require_channels(width);
  const FlushDenormals flush;
  const ImageValues::Order order = tensor.layout == Layout::kChannelsLast || inner == 1
                                       ? ImageValues::Order::kPixels
                                       : ImageValues::Order::kPlanes;
  const float* image = tensor.values<float>().data();
  for (std::int64_t n = 0; n < tensor.shape[0]; ++n, image += width * inner) {
    ChannelSums totals(width);
    const ImageSeen seen =
        observe_image({image, inner, width, order}, counting, totals, histogram_,
                      {sums_.data(), static_cast<std::int64_t>(sums_.size() * sizeof(ExactSum))});
    zeros_ += seen.zeros;
    count_ += width * inner;
    squares_.add(totals.squares());
    for (std::size_t c = 0; c < sums_.size(); ++c) {
      mins_[c] = std::min(mins_[c], FloatHistogram::flushed(totals.low(c)));
      maxs_[c] = std::max(maxs_[c], FloatHistogram::flushed(totals.high(c)));
    }
    for (std::size_t c = 0; c < sums_.size(); ++c) sums_[c].add(totals.sum(c));
    include({first_image + n, FloatHistogram::flushed(seen.lowest),
             FloatHistogram::flushed(seen.highest)});
    ++images_;
  }
}

void Statistics::require_channels(std::int64_t width) {
  if (sums_.empty()) {
    const auto channels = static_cast<std::size_t>(width);
    sums_.resize(channels);
    mins_.assign(channels, kInfinity);
    maxs_.assign(channels, -kInfinity);
  }
  if (channels() != width) {
    throw Error(ErrorCode::kMismatch, to_text("statistics: found ", width,
                                              " channels, expected the earlier ", channels()));
  }
}

// Keeps the extremes of the last kMaxExtremes images of the list. The memory is therefore bounded,
// and the state depends on the set of images only.
void Statistics::include(const ImageExtremes& image) {
  const auto position =
      std::upper_bound(extremes_.begin(), extremes_.end(), image,
                       [](const ImageExtremes& a, const ImageExtremes& b) {
                         return std::tie(a.image, a.min, a.max) < std::tie(b.image, b.min, b.max);
                       });
  extremes_.insert(position, image);
  if (extremes_.size() > kMaxExtremes) extremes_.erase(extremes_.begin());
}

void Statistics::merge(const Statistics& other) {
  if (other.sums_.empty()) return;
  if (sums_.empty()) {
    merge(Statistics(other));
    return;
  }
  require_channels(other.channels());
  histogram_.merge(other.histogram_);
  images_ += other.images_;
  count_ += other.count_;
  zeros_ += other.zeros_;
  squares_.merge(other.squares_);
  for (const ImageExtremes& image : other.extremes_) include(image);
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    sums_[c].merge(other.sums_[c]);
    mins_[c] = std::min(mins_[c], other.mins_[c]);
    maxs_[c] = std::max(maxs_[c], other.maxs_[c]);
  }
  exact_magnitudes_.reset();
}

void Statistics::merge(Statistics&& other) {
  if (sums_.empty()) {
    std::swap(*this, other);
    exact_magnitudes_.reset();
  } else {
    merge(std::as_const(other));
  }
  other = {};
}

Statistics Statistics::of_concatenation(std::span<const Statistics* const> parts) {
  Statistics all;
  const bool alike = std::all_of(parts.begin(), parts.end(), [&](const Statistics* part) {
    return part->values_per_counted() == parts.front()->values_per_counted();
  });
  for (const Statistics* part : parts) {
    if (all.sums_.empty()) {
      all.images_ = part->images_;
      all.extremes_ = part->extremes_;
    }
    const bool same_images = std::equal(
        all.extremes_.begin(), all.extremes_.end(), part->extremes_.begin(), part->extremes_.end(),
        [](const ImageExtremes& a, const ImageExtremes& b) { return a.image == b.image; });
    if (all.images_ != part->images_ || !same_images) {
      throw Error(ErrorCode::kMismatch, to_text("statistics: found ", part->images_,
                                                " images beside ", all.images_, " others"));
    }
    for (std::size_t i = 0; i < all.extremes_.size(); ++i) {
      all.extremes_[i].min = std::min(all.extremes_[i].min, part->extremes_[i].min);
      all.extremes_[i].max = std::max(all.extremes_[i].max, part->extremes_[i].max);
    }
    all.squares_.merge(part->squares_);
    all.sums_.insert(all.sums_.end(), part->sums_.begin(), part->sums_.end());
    all.mins_.insert(all.mins_.end(), part->mins_.begin(), part->mins_.end());
    all.maxs_.insert(all.maxs_.end(), part->maxs_.begin(), part->maxs_.end());
    all.count_ += part->count_;
    all.zeros_ += part->zeros_;
    all.histogram_.merge(part->histogram_, alike ? 1 : part->values_per_counted());
  }
  return all;
}

// The number of values that each counted value stands for.
std::int64_t Statistics::values_per_counted() const {
  const std::int64_t counted = histogram_.count();
  return counted == 0 ? 1 : std::max<std::int64_t>(1, (count_ + counted / 2) / counted);
}

LinearHistogram Statistics::magnitudes(std::int64_t bins) const {
  const bool counted =
      exact_magnitudes_ && static_cast<std::int64_t>(exact_magnitudes_->counts.size()) == bins;
  return counted ? *exact_magnitudes_ : magnitude_histogram(histogram_, bins);
}

StatisticsState Statistics::state() const {
  StatisticsState state{images_, count_,    zeros_,     squares_,
                        {},      extremes_, histogram_, exact_magnitudes_};
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    state.channels.push_back({sums_[c], mins_[c], maxs_[c]});
  }
  return state;
}

Statistics Statistics::from_state(StatisticsState state) {
  const auto channels = static_cast<std::int64_t>(state.channels.size());
  const std::int64_t count = state.count;
  const FloatHistogram& histogram = state.histogram;
  const auto& exact = state.exact_magnitudes;
  std::int64_t rest = count - state.zeros;  // non-zero values, minus the counts of all exact bins
  if (exact) {
    for (const std::int64_t bin : exact->counts) rest = bin >= 0 && bin <= rest ? rest - bin : -1;
  }
  const bool whole = channels == 0 ? count == 0 && state.images == 0
                                   : count > 0 && count % channels == 0 && state.images > 0 &&
                                         state.images <= count / channels;
  const bool counted = count <= CellCounts::kMaxCount && state.zeros >= 0 && state.zeros <= count &&
                       (state.zeros == count) == (histogram.absmax() == 0.0F) &&
                       (histogram.zeros() == 0 || state.zeros > 0) &&
                       (histogram.count() > 0) == (count > 0);
  const std::vector<ImageExtremes>& extremes = state.extremes;
  const bool kept =
      extremes.size() == std::min(static_cast<std::size_t>(state.images), kMaxExtremes) &&
      std::is_sorted(extremes.begin(), extremes.end(),
                     [](const auto& a, const auto& b) { return a.image < b.image; }) &&
      std::all_of(extremes.begin(), extremes.end(), [&](const ImageExtremes& image) {
        return histogram.min() <= image.min && image.min <= image.max &&
               image.max <= histogram.max();  // false for NaN
      });
  if (!whole || !kept || !counted || rest < 0 ||
      (exact && (exact->lower != 0.0 || exact->upper != histogram.absmax()))) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("statistics: ", count, " values of ", channels, " channels in ",
                        state.images, " images contradict each other"));
  }
  Statistics statistics;
  statistics.images_ = state.images;
  statistics.count_ = state.count;
  statistics.zeros_ = state.zeros;
  statistics.squares_ = state.squares;
  for (const StatisticsState::Channel& channel : state.channels) {
    statistics.sums_.push_back(channel.sum);
    statistics.mins_.push_back(channel.min);
    statistics.maxs_.push_back(channel.max);
  }
  statistics.extremes_ = std::move(state.extremes);
  statistics.histogram_ = std::move(state.histogram);
  statistics.exact_magnitudes_ = std::move(state.exact_magnitudes);
  return statistics;
}

bool operator==(const Statistics& a, const Statistics& b) {
  const auto ranges = [](const Statistics& statistics) {
    std::vector<std::pair<float, float>> all;
    for (const ImageExtremes& image : statistics.extremes_) all.emplace_back(image.min, image.max);
    std::sort(all.begin(), all.end());
    return all;
  };
  return a.images_ == b.images_ && a.count_ == b.count_ && a.zeros_ == b.zeros_ &&
         a.squares_ == b.squares_ && a.sums_ == b.sums_ && a.mins_ == b.mins_ &&
         a.maxs_ == b.maxs_ && a.histogram_ == b.histogram_ &&
         a.exact_magnitudes_ == b.exact_magnitudes_ && ranges(a) == ranges(b);
}

double Statistics::mean() const {
  if (count() == 0) return 0.0;
  ExactSum sum;
  for (const ExactSum& channel : sums_) sum.merge(channel);
  return sum.value() / static_cast<double>(count());
}

double Statistics::standard_deviation() const {
  if (count() == 0) return 0.0;
  const double centre = mean();
  const double square = squares_.value() / static_cast<double>(count());
  return std::sqrt(std::max(0.0, square - centre * centre));
}

double Statistics::channel_mean(std::int64_t channel) const {
  return sums_[static_cast<std::size_t>(channel)].value() /
         static_cast<double>(count() / channels());
}

float Statistics::channel_min(std::int64_t channel) const {
  return mins_[static_cast<std::size_t>(channel)];
}

float Statistics::channel_max(std::int64_t channel) const {
  return maxs_[static_cast<std::size_t>(channel)];
}

Range Statistics::range() const noexcept { return {std::min(min(), 0.0F), std::max(max(), 0.0F)}; }

Range Statistics::clipped_range(double threshold) const noexcept {
  const Range observed = range();
  const auto limit = static_cast<float>(threshold);
  return {std::max(observed.min, -limit), std::min(observed.max, limit)};
}

}  // namespace qtool
