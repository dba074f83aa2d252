#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "qtool/quant/exact_sum.h"
#include "qtool/quant/histogram.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The range of one image, by its place in the list of images.
struct ImageExtremes {
  std::int64_t image = 0;
  float min = 0.0F;
  float max = 0.0F;
  friend bool operator==(const ImageExtremes&, const ImageExtremes&) = default;
};

/// Everything Statistics holds, for storing.
struct StatisticsState {
  struct Channel {
    ExactSum sum;
    float min = 0.0F;
    float max = 0.0F;
  };
  std::int64_t images = 0;
  std::int64_t count = 0;
  std::int64_t zeros = 0;
  ExactSquareSum squares;
  std::vector<Channel> channels;
  std::vector<ImageExtremes> extremes;
  FloatHistogram histogram;
  std::optional<LinearHistogram> exact_magnitudes;
};

/// How many values of an image a histogram counts. All of an image with at most `per_image`; of a
/// larger one half of that to as many, or more where these would be fewer than 24 pixels: every
/// k-th run of pixels. `place` says at which of the first k it begins: k place / 2^32. It is drawn
/// for each picture, lest all be counted in the same places, and not from the activations, whose
/// last bits would decide which of them are counted.
struct Counting {
  std::int64_t per_image = std::numeric_limits<std::int64_t>::max();
  std::uint32_t place = 0;

  static constexpr Counting all() noexcept { return {}; }
  /// For each of so many images (at least 1): what makes some kTogether, but not below kMinCounted.
  /// Of a few images a sample may miss all peaks of a class map: what is up to kMinOfFew is whole.
  static constexpr Counting sample_of(std::int64_t images) noexcept {
    return {std::max(images <= kFew ? kMinOfFew : kMinCounted, kTogether / images)};
  }

  static constexpr std::int64_t kFew = 32;  // images
  static constexpr std::int64_t kMinCounted = std::int64_t{1} << 14;
  static constexpr std::int64_t kMinOfFew = std::int64_t{11} << 14;
  static constexpr std::int64_t kTogether = std::int64_t{1} << 21;
};

/// What calibration keeps of one activation tensor over all images: counts, extremes, moments, a
/// histogram, and per channel the mean and extremes. The memory does not grow with the images.
/// All of it describes every value, but for the shape of the histogram: of large images that is one
/// of a sample, whose places depend on the shape and the Counting alone. So images of several sizes
/// weigh alike in the histogram, not by their values.
/// Partial sums of one image run in a fixed order in double precision and are then added exactly,
/// counts are integers: the state does not depend on the order, grouping or batching of images that
/// are counted alike.
class Statistics {
 public:
  /// Adds the images of a float32 tensor of rank 2 to 5, axis 0 = image, axis 1 = channel, in
  /// either layout. Throws Error(kInvalidArgument) when it is another tensor or holds NaN or an
  /// infinity (naming value and place), Error(kMismatch) when the channels differ from earlier
  /// ones. After an Error about a value the statistics are of no use.
  /// Cost: about 0.3 ns per value and 0.8 ns per counted value that is not zero, on one core at
  /// 2.5 GHz with AVX-512; twice that without wide vectors. Small tensors pay some 20 ns per
  /// channel besides. `first_image`: place in the list of images of the first one in the tensor.
  void observe(const TensorView& tensor, std::int64_t first_image, Counting counting = {});
  /// The same for the next images of the list.
  void observe(const TensorView& tensor) { observe(tensor, images_); }

  /// As if every image of `other` had been observed. Throws as observe() and the histogram do.
  void merge(const Statistics& other);
  /// The same, taking what it can: cheap when this is empty. `other` is empty afterwards, and
  /// unchanged after an Error.
  void merge(Statistics&& other);
  /// What observing the concatenation of tensors along the channels would give, from the statistics
  /// of the tensors over the same images; the sum of squares may differ in its last bit, and a
  /// value that is counted is one that is counted in its tensor, there for as many as it stands for
  /// where the samples of the tensors are not equally dense. Throws Error(kMismatch) when the
  /// images differ. Cost: as merge(), whatever the number of images.
  static Statistics of_concatenation(std::span<const Statistics* const> parts);

  [[nodiscard]] std::int64_t images() const noexcept { return images_; }
  [[nodiscard]] std::int64_t channels() const noexcept {
    return static_cast<std::int64_t>(sums_.size());
  }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }  ///< all values
  [[nodiscard]] std::int64_t zeros() const noexcept { return zeros_; }
  [[nodiscard]] float min() const noexcept { return histogram_.min(); }
  [[nodiscard]] float max() const noexcept { return histogram_.max(); }
  [[nodiscard]] float absmax() const noexcept { return histogram_.absmax(); }
  [[nodiscard]] double mean() const;                ///< 0 when empty
  [[nodiscard]] double standard_deviation() const;  ///< of the values seen; 0 when empty
  [[nodiscard]] const FloatHistogram& histogram() const noexcept { return histogram_; }

  /// The non-zero |x| in bins over [0, max|x|]: as counted in a second pass if there was one with
  /// so many bins, otherwise magnitude_histogram().
  [[nodiscard]] LinearHistogram magnitudes(std::int64_t bins) const;
  /// Keeps what a second pass counted over all images. merge() drops it.
  void set_exact_magnitudes(LinearHistogram counted) { exact_magnitudes_ = std::move(counted); }
  [[nodiscard]] const std::optional<LinearHistogram>& exact_magnitudes() const noexcept {
    return exact_magnitudes_;
  }

  [[nodiscard]] double channel_mean(std::int64_t channel) const;
  [[nodiscard]] float channel_min(std::int64_t channel) const;
  [[nodiscard]] float channel_max(std::int64_t channel) const;

  /// Of the last kMaxExtremes images of the list, in its order.
  [[nodiscard]] const std::vector<ImageExtremes>& image_extremes() const noexcept {
    return extremes_;
  }
  static constexpr std::size_t kMaxExtremes = 4096;

  /// The observed range, widened to contain 0.
  [[nodiscard]] Range range() const noexcept;

  [[nodiscard]] StatisticsState state() const;
  /// Throws Error(kInvalidArgument) when the parts contradict each other.
  static Statistics from_state(StatisticsState state);

  /// Equal up to the places of the images in the list.
  friend bool operator==(const Statistics& a, const Statistics& b);

 private:
  void require_channels(std::int64_t width);
  void include(const ImageExtremes& image);
  [[nodiscard]] std::int64_t values_per_counted() const;

  std::int64_t images_ = 0;
  std::int64_t count_ = 0;
  std::int64_t zeros_ = 0;
  ExactSquareSum squares_;
  std::vector<ExactSum> sums_;  // by channel, as the two below
  std::vector<float> mins_;
  std::vector<float> maxs_;
  std::vector<ImageExtremes> extremes_;  // sorted by image
  FloatHistogram histogram_;
  std::optional<LinearHistogram> exact_magnitudes_;
};

}  // namespace qtool
