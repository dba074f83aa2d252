#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "calib/statistics.h"
#include "kernels/observe/observe.h"

namespace qtool {

/// The sum, the sum of squares, the minimum and the maximum of each of several adjacent channels.
/// The same class also holds the interleaved partial sums of a single channel.
class ChannelSums {
 public:
  explicit ChannelSums(std::int64_t width)
      : sums_(static_cast<std::size_t>(width)),
        squares_(sums_.size()),
        lows_(sums_.size()),
        highs_(sums_.size()) {
    clear();
  }

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(squares_.begin(), squares_.end(), 0.0);
    std::fill(lows_.begin(), lows_.end(), std::numeric_limits<float>::infinity());
    std::fill(highs_.begin(), highs_.end(), -std::numeric_limits<float>::infinity());
  }

  /// The totals of `width` channels, beginning with channel `first`.
  ChannelTotals part(std::int64_t first, std::int64_t width) {
    return {sums_.data() + first, squares_.data() + first, lows_.data() + first,
            highs_.data() + first, width};
  }

  /// Sets channel `c` to the total of the interleaved sums in `partial`. They are added in pairs,
  /// which overwrites them.
  void take(std::int64_t c, ChannelSums& partial) {
    const auto at = static_cast<std::size_t>(c);
    for (std::size_t half = partial.sums_.size() / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) {
        partial.sums_[i] += partial.sums_[i + half];
        partial.squares_[i] += partial.squares_[i + half];
        partial.lows_[i] = std::min(partial.lows_[i], partial.lows_[i + half]);
        partial.highs_[i] = std::max(partial.highs_[i], partial.highs_[i + half]);
      }
    }
    sums_[at] = partial.sums_[0];
    squares_[at] = partial.squares_[0];
    lows_[at] = partial.lows_[0];
    highs_[at] = partial.highs_[0];
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

/// The values of an image. Either the values of a pixel are adjacent in memory (kPixels), or the
/// values of a channel (kPlanes).
struct ImageValues {
  enum class Order : std::uint8_t { kPixels, kPlanes };
  const float* values;
  std::int64_t pixels;
  std::int64_t width;  ///< channels
  Order order;

  [[nodiscard]] std::int64_t size() const { return pixels * width; }
};

/// Results over all values of an image.
struct ImageSeen {
  std::int64_t zeros = 0;
  float lowest = std::numeric_limits<float>::infinity();
  float highest = -std::numeric_limits<float>::infinity();
};

/// Adds every value of an image to the totals of its channels, and counts all or some of the values
/// in the histogram. The extremes of the histogram cover all values. Throws Error(kInvalidArgument)
/// at NaN or an infinity, naming value and position. `afterwards`: the memory that the caller reads
/// next. It is prefetched while the last values are summed, unless the image is very small. Cost:
/// see Statistics::observe().
ImageSeen observe_image(const ImageValues& image, Counting counting, ChannelSums& channels,
                        FloatHistogram& histogram, const Ahead& afterwards);

}  // namespace qtool
