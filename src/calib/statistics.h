#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtool/tensor/tensor.h"
#include "quant/exact_sum.h"
#include "quant/histogram.h"

namespace qtool {

/// The range of one image, with its index in the list of images.
struct ImageExtremes {
  std::int64_t image = 0;
  float min = 0.0F;
  float max = 0.0F;
  friend bool operator==(const ImageExtremes&, const ImageExtremes&) = default;
};

/// The complete state of Statistics, for storing.
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

/// The values of an image that a histogram counts. An image with at most `per_image` values is
/// counted completely. In a larger image, between per_image / 2 and per_image values are counted,
/// but at least 24 pixels. One of every k contiguous groups of pixels is counted, beginning with
/// group k * random_start / 2^32. `random_start` differs from image to image, so that different
/// positions are counted in different images. It must not depend on the activations, because their
/// last bits would then decide which of them are counted.
struct Counting {
  std::int64_t per_image = std::numeric_limits<std::int64_t>::max();
  std::uint32_t random_start = 0;

  static constexpr Counting all() noexcept { return {}; }
  /// The sample for a list of `images` images (at least 1): about kTogether values per tensor over
  /// all images, but at least kMinCounted per image. With at most kFew images, a small sample could
  /// miss all peaks of a class map, so every image of at most kMinOfFew values is counted
  /// completely.
  static constexpr Counting sample_of(std::int64_t images) noexcept {
    return {std::max(images <= kFew ? kMinOfFew : kMinCounted, kTogether / images)};
  }

  static constexpr std::int64_t kFew = 32;  // images
  static constexpr std::int64_t kMinCounted = std::int64_t{1} << 14;
  static constexpr std::int64_t kMinOfFew = std::int64_t{11} << 14;
  static constexpr std::int64_t kTogether = std::int64_t{1} << 21;
};

/// The statistics of one activation over all images: counts, extremes, moments, a histogram, and
/// per channel the mean and extremes. The memory does not grow with the number of images.
/// All statistics cover all values, except the counts of the histogram: in a large image they come
/// from a sample. The counted positions depend on the shape and the Counting only. Large images of
/// different sizes therefore have about the same weight in the histogram.
/// Partial sums of one image are computed in a fixed order in double precision and then added
/// exactly; counts are integers. The state therefore does not depend on the order, grouping or
/// batching of the images, as long as each image is counted with the same Counting.
class Statistics {
 public:
  /// Adds the images of a float32 tensor of rank 2 to 5, axis 0 = image, axis 1 = channel, in
  /// either layout. `first_image`: index of the tensor's first image in the list of images. Throws
  /// Error(kInvalidArgument) for another type or rank, and for NaN or infinity (naming value and
  /// position); Error(kMismatch) when the number of channels differs from earlier tensors. After an
  /// Error about a value the statistics must not be used.
  /// Cost: about 0.3 ns per value and 0.8 ns per counted value that is not zero, on one core at 2.5
  /// GHz with AVX-512; twice that without wide vectors. Small tensors cost some 20 ns per channel
  /// more.
  void observe(const TensorView& tensor, std::int64_t first_image, Counting counting = {});
  /// Observes the next images of the list.
  void observe(const TensorView& tensor) { observe(tensor, images_); }

  /// Adds the statistics of `other`, as if its images had been observed here. Throws as observe()
  /// and FloatHistogram::merge() do.
  void merge(const Statistics& other);
  /// Merges by moving from `other`, which is cheap when this object is empty. Afterwards `other` is
  /// empty; after an Error it is unchanged.
  void merge(Statistics&& other);
  /// The statistics of the concatenation of tensors along the channels, computed from the
  /// statistics of the tensors over the same images. They equal the statistics of a concatenation
  /// that is observed itself, with two exceptions: the sum of squares may differ in its last bit,
  /// and the histogram counts the values that were counted in the parts. Where the samples of the
  /// parts are not equally dense, each count is multiplied by the number of values it stands for.
  /// Throws Error(kMismatch) when the images differ. Cost: as merge(), independent of the number of
  /// images.
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

  /// The non-zero |x| in bins over [0, max|x|]: the counts of the second pass if it had this number
  /// of bins, otherwise magnitude_histogram().
  [[nodiscard]] LinearHistogram magnitudes(std::int64_t bins) const;
  /// Stores the counts of a second pass over all images. merge() drops them.
  void set_exact_magnitudes(LinearHistogram counted) { exact_magnitudes_ = std::move(counted); }
  [[nodiscard]] const std::optional<LinearHistogram>& exact_magnitudes() const noexcept {
    return exact_magnitudes_;
  }

  [[nodiscard]] double channel_mean(std::int64_t channel) const;
  [[nodiscard]] float channel_min(std::int64_t channel) const;
  [[nodiscard]] float channel_max(std::int64_t channel) const;

  /// The ranges of the last kMaxExtremes images of the list, in the order of the list.
  [[nodiscard]] const std::vector<ImageExtremes>& image_extremes() const noexcept {
    return extremes_;
  }
  static constexpr std::size_t kMaxExtremes = 4096;

  /// The observed range, widened to contain 0.
  [[nodiscard]] Range range() const noexcept;
  /// range() clipped to [-threshold, threshold].
  [[nodiscard]] Range clipped_range(double threshold) const noexcept;

  [[nodiscard]] StatisticsState state() const;
  /// Throws Error(kInvalidArgument) when the parts contradict each other.
  static Statistics from_state(StatisticsState state);

  /// Compares everything except the indices of the images in the list.
  friend bool operator==(const Statistics& a, const Statistics& b);

 private:
  void require_channels(std::int64_t width);
  void include(const ImageExtremes& image);
  [[nodiscard]] std::int64_t values_per_counted() const;

  std::int64_t images_ = 0;
  std::int64_t count_ = 0;
  std::int64_t zeros_ = 0;
  ExactSquareSum squares_;
  std::vector<ExactSum> sums_;  // by channel, like mins_ and maxs_
  std::vector<float> mins_;
  std::vector<float> maxs_;
  std::vector<ImageExtremes> extremes_;  // sorted by image
  FloatHistogram histogram_;
  std::optional<LinearHistogram> exact_magnitudes_;
};

/// Statistics of one activation tensor and its producer in the graph.
struct TensorStatistics {
  std::string tensor;
  std::string producer;  ///< name of its node, or the node's first output; empty: a model input
  Statistics statistics;
  friend bool operator==(const TensorStatistics&, const TensorStatistics&) = default;
};

}  // namespace qtool
