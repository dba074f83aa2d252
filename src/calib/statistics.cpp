#include "qtool/calib/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "kernels/observe/observe.h"
#include "qtool/base/error.h"
#include "qtool/base/parallel.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

// Values summed and then counted while they are in the second-level cache, beside those that are
// fetched meanwhile; and the fewest pixels for which it pays to load the totals of their channels.
constexpr std::int64_t kChunk = 16384;
constexpr std::int64_t kFewestPixels = 16;
// A channel whose values are adjacent is summed as that many interleaved chains.
constexpr std::int64_t kLanes = 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const ObserveKernel& kernel() {
  static const ObserveKernel selected;
  return selected;
}

// Totals of adjacent channels, or of the chains of one channel.
class Totals {
 public:
  explicit Totals(std::int64_t width)
      : sums_(static_cast<std::size_t>(width)),
        squares_(sums_.size()),
        lows_(sums_.size()),
        highs_(sums_.size()) {
    clear();
  }

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(squares_.begin(), squares_.end(), 0.0);
    std::fill(lows_.begin(), lows_.end(), kInfinity);
    std::fill(highs_.begin(), highs_.end(), -kInfinity);
  }

  // The first `width` of them, from channel `first` on.
  ChannelTotals part(std::int64_t first, std::int64_t width) {
    return {sums_.data() + first, squares_.data() + first, lows_.data() + first,
            highs_.data() + first, width};
  }

  // Makes channel `c` what all the chains together are, added up in pairs.
  void take(std::int64_t c, Totals& chains) {
    const auto at = static_cast<std::size_t>(c);
    for (std::size_t half = chains.sums_.size() / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) {
        chains.sums_[i] += chains.sums_[i + half];
        chains.squares_[i] += chains.squares_[i + half];
        chains.lows_[i] = std::min(chains.lows_[i], chains.lows_[i + half]);
        chains.highs_[i] = std::max(chains.highs_[i], chains.highs_[i + half]);
      }
    }
    sums_[at] = chains.sums_[0];
    squares_[at] = chains.squares_[0];
    lows_[at] = chains.lows_[0];
    highs_[at] = chains.highs_[0];
  }

  [[nodiscard]] double sum(std::size_t c) const { return sums_[c]; }
  [[nodiscard]] float low(std::size_t c) const { return lows_[c]; }
  [[nodiscard]] float high(std::size_t c) const { return highs_[c]; }
  [[nodiscard]] double squares() const {
    return std::accumulate(squares_.begin(), squares_.end(), 0.0);
  }

 private:
  std::vector<double> sums_;
  std::vector<double> squares_;
  std::vector<float> lows_;
  std::vector<float> highs_;
};

[[noreturn]] void refuse(std::span<const float> values, std::int64_t first_index) {
  const auto bad = std::find_if_not(values.begin(), values.end(),
                                    [](float value) { return std::isfinite(value); });
  throw Error(ErrorCode::kInvalidArgument,
              concat("found ", *bad, " at element ", first_index + (bad - values.begin()),
                     ", expected finite values"));
}

// The values of an image: those of a pixel side by side, or those of a channel.
struct Image {
  enum class Order : std::uint8_t { kPixels, kPlanes };
  const float* values;
  std::int64_t pixels;
  std::int64_t width;  // channels
  Order order;

  [[nodiscard]] std::int64_t size() const { return pixels * width; }
  [[nodiscard]] float at(std::int64_t pixel, std::int64_t channel) const {
    return values[order == Order::kPixels ? pixel * width + channel : channel * pixels + pixel];
  }
};

// Which pixels of an image are counted: all of them, or one run of every so many, such that some
// Statistics::kCountedPerImage values are. The run's place among the so many moves on by one each
// time, lest it stand in the same columns of every row; where it begins is drawn from the image
// itself, lest all images be counted in the same places.
class CountedPixels {
 public:
  CountedPixels(const Image& image, Counting counting) : run_(image.pixels) {
    if (counting == Counting::kAll || image.size() <= Statistics::kCountedPerImage) return;
    every_ = std::min((image.size() - 1) / Statistics::kCountedPerImage + 1,
                      image.pixels / kFewestCounted);
    every_ = std::max(every_, std::int64_t{1});
    if (every_ == 1) return;
    const std::int64_t longest = std::max(kRunPixels, kRunValues / image.width);
    run_ = std::clamp(image.pixels / (kFewestRuns * every_), std::int64_t{1}, longest);
    // The high bits, which depend on all of the digested ones.
    start_ = (digest(image) * every_) >> 32U;
  }

  // Calls visit(first, last) for the counted ones among [begin, end), run by run.
  template <typename Visit>
  void visit(std::int64_t begin, std::int64_t end, Visit visit) const {
    const std::int64_t period = every_ * run_;
    for (std::int64_t turn = begin / period; turn * period < end; ++turn) {
      const std::int64_t first = turn * period + (start_ + turn) % every_ * run_;
      if (first < end && first + run_ > begin) {
        visit(std::max(begin, first), std::min(end, first + run_));
      }
    }
  }

 private:
  // Neighbours are alike, so that a sample is as good as its pixels are many.
  static constexpr std::int64_t kFewestCounted = 96;
  // Runs are short, to be spread evenly, but long enough to be worth a kernel's while.
  static constexpr std::int64_t kRunValues = 1024;
  static constexpr std::int64_t kRunPixels = 4;  // which are what is adjacent in planes
  static constexpr std::int64_t kFewestRuns = 4;
  static constexpr std::int64_t kDigested = 32;  // values

  // A number below 2^32 that differs between images, the same in either order of the values and for
  // an image multiplied by a power of two.
  static std::int64_t digest(const Image& image) {
    constexpr std::uint32_t kFraction = 0x7FFFFF;  // bits
    constexpr std::uint32_t kGolden = 0x9E3779B1;  // 2^32 / golden ratio, odd
    std::uint32_t mixed = 0;
    for (std::int64_t i = 0; i < kDigested; ++i) {
      const float value = image.at(i * image.pixels / kDigested, i * image.width / kDigested);
      mixed = (mixed ^ (std::bit_cast<std::uint32_t>(value) & kFraction)) * kGolden;
    }
    return mixed;
  }

  std::int64_t every_ = 1;  // runs, of which one is counted
  std::int64_t run_;        // pixels
  std::int64_t start_ = 0;
};

// Takes an image into the totals of its channels and counts it.
class ImageObserver {
 public:
  ImageObserver(const Image& image, Counting counting, Totals& channels, FloatHistogram& histogram)
      : image_(image), counted_(image, counting), channels_(channels), histogram_(histogram) {}

  void run() {
    if (image_.order == Image::Order::kPixels) {
      add_pixels();
    } else {
      add_planes();
    }
  }

  [[nodiscard]] std::int64_t zeros() const noexcept { return zeros_; }

 private:
  void add_pixels() {
    const std::int64_t step = std::max(kFewestPixels, kChunk / image_.width);
    for (std::int64_t begin = 0; begin < image_.pixels; begin += step) {
      const std::int64_t end = std::min(image_.pixels, begin + step);
      take(kernel().accumulate(image_.values + begin * image_.width, end - begin,
                               channels_.part(0, image_.width)),
           begin * image_.width, (end - begin) * image_.width);
      counted_.visit(begin, end, [&](std::int64_t first, std::int64_t last) {
        count(first * image_.width, (last - first) * image_.width,
              last == end ? (std::min(image_.pixels, end + step) - end) * image_.width : 0);
      });
    }
  }

  // Value i of a channel is added to chain i modulo kLanes.
  void add_planes() {
    Totals chains(kLanes);
    for (std::int64_t c = 0; c < image_.width; ++c) {
      chains.clear();
      for (std::int64_t begin = 0; begin < image_.pixels; begin += kChunk) {
        const std::int64_t end = std::min(image_.pixels, begin + kChunk);
        const float* const values = image_.values + c * image_.pixels + begin;
        const std::int64_t whole = (end - begin) / kLanes * kLanes;
        Seen seen = kernel().accumulate(values, whole / kLanes, chains.part(0, kLanes));
        if (begin + whole < end) {  // the chunk's last values end the plane
          const Seen rest =
              kernel().accumulate(values + whole, 1, chains.part(0, end - begin - whole));
          seen = {std::min(seen.lowest, rest.lowest), std::max(seen.highest, rest.highest),
                  seen.finite && rest.finite, seen.nonzeros + rest.nonzeros};
        }
        take(seen, c * image_.pixels + begin, end - begin);
        counted_.visit(begin, end, [&](std::int64_t first, std::int64_t last) {
          const std::int64_t next = (image_.width - c) * image_.pixels - end;  // of the image
          count(c * image_.pixels + first, last - first, last == end ? std::min(kChunk, next) : 0);
        });
      }
      channels_.take(c, chains);
    }
  }

  // Notes what was seen of the `size` values from `begin` on; those counted next lie within it.
  void take(const Seen& seen, std::int64_t begin, std::int64_t size) {
    if (!seen.finite) refuse({image_.values + begin, static_cast<std::size_t>(size)}, begin);
    seen_ = seen;
    zeros_ += size - seen.nonzeros;
    histogram_.include(seen.lowest, seen.highest);
  }

  // Counts the `size` values from `begin` on. `next` more follow that will be summed next.
  void count(std::int64_t begin, std::int64_t size, std::int64_t next) {
    const Signs signs = seen_.lowest < 0.0F ? Signs::kBoth : Signs::kPositive;
    for (std::int64_t at = 0; at < size; at += FloatHistogram::kMostAtOnce) {
      const std::int64_t part = std::min(FloatHistogram::kMostAtOnce, size - at);
      const CountingGrid grid = histogram_.prepare(seen_.lowest, seen_.highest, part);
      const bool last = at + part == size;
      histogram_.add_zeros(grid.counters == nullptr
                               ? part
                               : kernel().count(image_.values + begin + at, part, last ? next : 0,
                                                grid.cells_per_unit, signs, grid.counters));
    }
  }

  Image image_;
  CountedPixels counted_;
  Totals& channels_;
  FloatHistogram& histogram_;
  Seen seen_{};
  std::int64_t zeros_ = 0;
};

}  // namespace

void Statistics::observe(const TensorView& tensor, std::int64_t first_image, Counting counting) {
  const std::int64_t rank = tensor.shape.rank();
  if (tensor.dtype != DType::kFloat32 || rank < 2 || rank > 5) {
    throw Error(ErrorCode::kInvalidArgument,
                concat("statistics: found ", name_of(tensor.dtype), " ", tensor.shape.to_string(),
                       ", expected float32 of rank 2 to 5"));
  }
  const std::int64_t width = tensor.shape[1];
  std::int64_t inner = 1;
  for (std::int64_t axis = 2; axis < rank; ++axis) inner *= tensor.shape[axis];
  if (tensor.shape.elements() == 0) return;
  require_channels(width);
  const FlushDenormals flush;
  const Image::Order order = tensor.layout == Layout::kChannelsLast || inner == 1
                                 ? Image::Order::kPixels
                                 : Image::Order::kPlanes;
  const float* image = tensor.values<float>().data();
  for (std::int64_t n = 0; n < tensor.shape[0]; ++n, image += width * inner) {
    Totals totals(width);
    ImageObserver observer({image, inner, width, order}, counting, totals, histogram_);
    observer.run();
    count_ += width * inner;
    zeros_ += observer.zeros();
    squares_.add(totals.squares());
    float lowest = kInfinity;
    float highest = -kInfinity;
    for (std::size_t c = 0; c < sums_.size(); ++c) {
      const float min = FloatHistogram::flushed(totals.low(c));
      const float max = FloatHistogram::flushed(totals.high(c));
      mins_[c] = std::min(mins_[c], min);
      maxs_[c] = std::max(maxs_[c], max);
      lowest = std::min(lowest, min);
      highest = std::max(highest, max);
    }
    for (std::size_t c = 0; c < sums_.size(); ++c) sums_[c].add(totals.sum(c));
    include({first_image + n, lowest, highest});
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
    throw Error(ErrorCode::kMismatch, concat("statistics: found ", width,
                                             " channels, expected the earlier ", channels()));
  }
}

// Keeps the last images of the list, so that memory does not grow with it and the state depends on
// the set of images only.
void Statistics::include(const ImageExtremes& image) {
  const auto place =
      std::upper_bound(extremes_.begin(), extremes_.end(), image,
                       [](const ImageExtremes& a, const ImageExtremes& b) {
                         return std::tie(a.image, a.min, a.max) < std::tie(b.image, b.min, b.max);
                       });
  extremes_.insert(place, image);
  if (extremes_.size() > kMostExtremes) extremes_.erase(extremes_.begin());
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
      throw Error(ErrorCode::kMismatch, concat("statistics: found ", part->images_,
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

// How many values each counted one stands for.
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
  std::int64_t rest = count - state.zeros;  // of the other values, after all bins
  if (exact) {
    for (const std::int64_t bin : exact->counts) rest = bin >= 0 && bin <= rest ? rest - bin : -1;
  }
  const bool whole = channels == 0 ? count == 0 && state.images == 0
                                   : count > 0 && count % channels == 0 && state.images > 0 &&
                                         state.images <= count / channels;
  const bool counted =
      count <= CellCounts::kLargestCount && state.zeros >= 0 && state.zeros <= count &&
      (state.zeros == count) == (histogram.absmax() == 0.0F) &&
      (histogram.zeros() == 0 || state.zeros > 0) && (histogram.count() > 0) == (count > 0);
  const bool sorted =
      std::is_sorted(state.extremes.begin(), state.extremes.end(),
                     [](const auto& a, const auto& b) { return a.image < b.image; });
  if (!whole || !sorted || !counted || rest < 0 || state.extremes.size() > kMostExtremes ||
      (exact && (exact->lower != 0.0 || exact->upper != histogram.absmax()))) {
    throw Error(ErrorCode::kInvalidArgument,
                concat("statistics: ", count, " values of ", channels, " channels in ",
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

}  // namespace qtool
