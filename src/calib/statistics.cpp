#include "qtool/calib/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>

#include "qtool/base/error.h"
#include "qtool/base/parallel.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

// Values summed and then counted while they are in the first-level cache.
constexpr std::int64_t kChunk = 4096;
constexpr std::int64_t kLanes = 4;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Four values at once on every compiler and machine, without an instruction set of its own.
using Floats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));

Floats load(const float* values) {
  Floats lanes;
  std::memcpy(&lanes, values, sizeof(lanes));
  return lanes;
}

// Sums and extremes of a few vectors' worth of interleaved chains, kept in registers.
struct Lanes {
  Doubles sum{};
  Doubles squares{};
  Floats min = Floats{} + kInfinity;
  Floats max = Floats{} - kInfinity;

  void add(Floats values) {
    const Doubles wide = __builtin_convertvector(values, Doubles);
    sum += wide;
    squares += wide * wide;
    min = values < min ? values : min;
    max = values > max ? values : max;
  }
};

struct ChannelSums {
  double sum = 0.0;
  float min = kInfinity;
  float max = -kInfinity;

  void add(double lane_sum, float lane_min, float lane_max) {
    sum += lane_sum;
    min = std::min(min, lane_min);
    max = std::max(max, lane_max);
  }
};

// One channel, contiguous. Returns the sum of squares.
double add_row(const float* values, std::int64_t count, ChannelSums& channel) {
  std::array<Lanes, 2> lanes;  // two chains hide the latency of the additions
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    lanes[0].add(load(values + i));
    lanes[1].add(load(values + i + kLanes));
  }
  const Doubles sum = lanes[0].sum + lanes[1].sum;
  const Doubles squares = lanes[0].squares + lanes[1].squares;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    channel.add(sum[lane], std::min(lanes[0].min[lane], lanes[1].min[lane]),
                std::max(lanes[0].max[lane], lanes[1].max[lane]));
  }
  double total_squares = (squares[0] + squares[1]) + (squares[2] + squares[3]);
  for (; i < count; ++i) {
    const double wide = values[i];
    channel.add(wide, values[i], values[i]);
    total_squares += wide * wide;
  }
  return total_squares;
}

// Pixels of all channels, the channels adjacent. Returns the sum of squares.
double add_pixels(const float* values, std::int64_t pixels, std::span<ChannelSums> channels) {
  const auto width = static_cast<std::int64_t>(channels.size());
  double total_squares = 0.0;
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= width; c += 2 * kLanes) {
    std::array<Lanes, 2> lanes;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      lanes[0].add(load(values + pixel * width + c));
      lanes[1].add(load(values + pixel * width + c + kLanes));
    }
    for (std::int64_t lane = 0; lane < 2 * kLanes; ++lane) {
      const Lanes& from = lanes[static_cast<std::size_t>(lane / kLanes)];
      channels[static_cast<std::size_t>(c + lane)].add(
          from.sum[lane % kLanes], from.min[lane % kLanes], from.max[lane % kLanes]);
      total_squares += from.squares[lane % kLanes];
    }
  }
  for (; c < width; ++c) {
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const float value = values[pixel * width + c];
      const double wide = value;
      channels[static_cast<std::size_t>(c)].add(wide, value, value);
      total_squares += wide * wide;
    }
  }
  return total_squares;
}

void require_finite(double squares, std::span<const float> values, std::int64_t first_index) {
  if (std::isfinite(squares)) return;  // squares cannot cancel, and doubles hold those of floats
  const auto bad = std::find_if_not(values.begin(), values.end(),
                                    [](float value) { return std::isfinite(value); });
  throw Error(ErrorCode::kInvalidArgument,
              concat("found ", *bad, " at element ", first_index + (bad - values.begin()),
                     ", expected finite values"));
}

// Sums one image into `channels` and counts it in `histogram`; returns the sum of squares.
double add_image(const float* image, std::int64_t inner, bool channels_adjacent,
                 std::span<ChannelSums> channels, FloatHistogram& histogram) {
  const auto width = static_cast<std::int64_t>(channels.size());
  double squares = 0.0;
  const auto finish = [&](double chunk_squares, std::int64_t begin, std::int64_t count) {
    const std::span<const float> chunk(image + begin, static_cast<std::size_t>(count));
    require_finite(chunk_squares, chunk, begin);
    squares += chunk_squares;
    histogram.observe(chunk);
  };
  if (channels_adjacent) {
    const std::int64_t step = std::max<std::int64_t>(1, kChunk / width);
    for (std::int64_t pixel = 0; pixel < inner; pixel += step) {
      const std::int64_t pixels = std::min(step, inner - pixel);
      const double chunk_squares = add_pixels(image + pixel * width, pixels, channels);
      finish(chunk_squares, pixel * width, pixels * width);
    }
  } else if (inner >= kChunk) {
    for (std::int64_t c = 0; c < width; ++c) {
      for (std::int64_t begin = 0; begin < inner; begin += kChunk) {
        const std::int64_t count = std::min(kChunk, inner - begin);
        const double chunk_squares =
            add_row(image + c * inner + begin, count, channels[static_cast<std::size_t>(c)]);
        finish(chunk_squares, c * inner + begin, count);
      }
    }
  } else {
    const std::int64_t step = kChunk / inner;
    for (std::int64_t c = 0; c < width; c += step) {
      const std::int64_t rows = std::min(step, width - c);
      double chunk_squares = 0.0;
      for (std::int64_t row = c; row < c + rows; ++row) {
        chunk_squares +=
            add_row(image + row * inner, inner, channels[static_cast<std::size_t>(row)]);
      }
      finish(chunk_squares, c * inner, rows * inner);
    }
  }
  return squares;
}

float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? 0.0F : value;
}

}  // namespace

void Statistics::observe(const TensorView& tensor, std::int64_t first_image) {
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
  const bool adjacent = tensor.layout == Layout::kChannelsLast || inner == 1;
  const float* image = tensor.values<float>().data();
  for (std::int64_t n = 0; n < tensor.shape[0]; ++n, image += width * inner) {
    std::vector<ChannelSums> sums(static_cast<std::size_t>(width));
    squares_.add(add_image(image, inner, adjacent, sums, histogram_));
    ImageExtremes extremes{first_image + n, kInfinity, -kInfinity};
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const float min = flushed(sums[c].min);
      const float max = flushed(sums[c].max);
      channels_[c].sum.add(sums[c].sum);
      channels_[c].min = std::min(channels_[c].min, min);
      channels_[c].max = std::max(channels_[c].max, max);
      extremes.min = std::min(extremes.min, min);
      extremes.max = std::max(extremes.max, max);
    }
    include(extremes);
    ++images_;
  }
}

void Statistics::require_channels(std::int64_t width) {
  if (channels_.empty()) channels_.resize(static_cast<std::size_t>(width));
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
  if (other.channels_.empty()) return;
  require_channels(other.channels());
  images_ += other.images_;
  squares_.merge(other.squares_);
  for (const ImageExtremes& image : other.extremes_) include(image);
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].sum.merge(other.channels_[c].sum);
    channels_[c].min = std::min(channels_[c].min, other.channels_[c].min);
    channels_[c].max = std::max(channels_[c].max, other.channels_[c].max);
  }
  histogram_.merge(other.histogram_);
  exact_magnitudes_.reset();
}

LinearHistogram Statistics::magnitudes(std::int64_t bins) const {
  const bool counted =
      exact_magnitudes_ && static_cast<std::int64_t>(exact_magnitudes_->counts.size()) == bins;
  return counted ? *exact_magnitudes_ : magnitude_histogram(histogram_, bins);
}

StatisticsState Statistics::state() const {
  StatisticsState state{images_, squares_, {}, extremes_, histogram_, exact_magnitudes_};
  for (const Channel& channel : channels_) {
    state.channels.push_back({channel.sum, channel.min, channel.max});
  }
  return state;
}

Statistics Statistics::from_state(StatisticsState state) {
  const auto channels = static_cast<std::int64_t>(state.channels.size());
  const std::int64_t count = state.histogram.count();
  const auto& exact = state.exact_magnitudes;
  const bool whole =
      channels == 0 ? count == 0 && state.images == 0 : state.images > 0 && count % channels == 0;
  const bool sorted =
      std::is_sorted(state.extremes.begin(), state.extremes.end(),
                     [](const auto& a, const auto& b) { return a.image < b.image; });
  if (!whole || !sorted || state.extremes.size() > kMostExtremes ||
      (exact && (exact->lower != 0.0 || exact->upper != state.histogram.absmax()))) {
    throw Error(ErrorCode::kInvalidArgument,
                concat("statistics: ", count, " values of ", channels, " channels in ",
                       state.images, " images contradict each other"));
  }
  Statistics statistics;
  statistics.images_ = state.images;
  statistics.squares_ = state.squares;
  for (const StatisticsState::Channel& channel : state.channels) {
    statistics.channels_.push_back({channel.sum, channel.min, channel.max});
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
  return a.images_ == b.images_ && a.squares_ == b.squares_ && a.channels_ == b.channels_ &&
         a.histogram_ == b.histogram_ && a.exact_magnitudes_ == b.exact_magnitudes_ &&
         ranges(a) == ranges(b);
}

double Statistics::mean() const {
  if (count() == 0) return 0.0;
  ExactSum sum;
  for (const Channel& channel : channels_) sum.merge(channel.sum);
  return sum.value() / static_cast<double>(count());
}

double Statistics::standard_deviation() const {
  if (count() == 0) return 0.0;
  const double centre = mean();
  const double square = squares_.value() / static_cast<double>(count());
  return std::sqrt(std::max(0.0, square - centre * centre));
}

double Statistics::channel_mean(std::int64_t channel) const {
  return channels_[static_cast<std::size_t>(channel)].sum.value() /
         static_cast<double>(count() / channels());
}

float Statistics::channel_min(std::int64_t channel) const {
  return channels_[static_cast<std::size_t>(channel)].min;
}

float Statistics::channel_max(std::int64_t channel) const {
  return channels_[static_cast<std::size_t>(channel)].max;
}

Range Statistics::range() const noexcept { return {std::min(min(), 0.0F), std::max(max(), 0.0F)}; }

}  // namespace qtool
