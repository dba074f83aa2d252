#include "calib/image_observer.h"

#include <cmath>
#include <span>

#include "base/round_up.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// kChunk values are summed and then counted. They are then still in the second-level cache,
// together with the values that summing has prefetched. A chunk has at least kMinPixels pixels,
// because fewer pixels do not justify loading the totals of their channels.
constexpr std::int64_t kChunk = 16384;
constexpr std::int64_t kMinPixels = 16;
// A channel whose values are adjacent is summed as this many interleaved sums.
constexpr std::int64_t kPartialSums = 16;

const ObserveKernel& kernel() {
  static const ObserveKernel selected;
  return selected;
}

[[noreturn]] void refuse(std::span<const float> values) {
  const auto bad = std::find_if_not(values.begin(), values.end(),
                                    [](float value) { return std::isfinite(value); });
  throw Error(
      ErrorCode::kInvalidArgument,
      to_text("found ", *bad, " at element ", bad - values.begin(), ", expected finite values"));
}

// The pixels of an image that are counted: all of them, or one contiguous group of pixels out of
// every `every_` groups. The position of the counted group among them moves on by one each time.
// Otherwise, if the period divides a row, the same columns of every row would be counted.
// Counting::random_start gives the first position.
class CountedPixels {
 public:
  CountedPixels(const ImageValues& image, Counting counting) : group_(image.pixels) {
    if (image.size() <= counting.per_image) return;
    every_ = std::min(ceil_div(image.size(), counting.per_image), image.pixels / kMinCounted);
    every_ = std::max(every_, std::int64_t{1});
    if (every_ == 1) return;
    group_ = std::max<std::int64_t>(1, kGroupValues / image.width);
    start_ = (std::int64_t{counting.random_start} * every_) >> 32U;
  }

  // Calls visit(first, last) for each contiguous group of counted pixels in [begin, end).
  template <typename Visit>
  void visit(std::int64_t begin, std::int64_t end, Visit visit) const {
    const std::int64_t period = every_ * group_;
    for (std::int64_t turn = begin / period; turn * period < end; ++turn) {
      const std::int64_t first = turn * period + (start_ + turn) % every_ * group_;
      if (first < end && first + group_ > begin) {
        visit(std::max(begin, first), std::min(end, first + group_));
      }
    }
  }

 private:
  // Neighbouring values are alike, so the quality of a sample depends on the number of its pixels.
  static constexpr std::int64_t kMinCounted = 24;
  // Values in a contiguous group: just enough to make a kernel call worthwhile, so that the groups
  // are spread evenly. Groups of four pixels hit the peak of a class map, which is a few pixels
  // wide, in too few images.
  static constexpr std::int64_t kGroupValues = 1024;

  std::int64_t every_ = 1;  // one of this many groups is counted
  std::int64_t group_;      // pixels of a group
  std::int64_t start_ = 0;
};

// See observe_image().
class ImageObserver {
 public:
  ImageObserver(const ImageValues& image, Counting counting, ChannelSums& channels,
                FloatHistogram& histogram, const Ahead& afterwards)
      : image_(image),
        counted_(image, counting),
        channels_(channels),
        histogram_(histogram),
        afterwards_(afterwards) {}

  ImageSeen run() {
    if (image_.order == ImageValues::Order::kPixels) {
      add_pixels();
    } else {
      add_planes();
    }
    return seen_;
  }

 private:
  // Goes backwards, because the values that the previous layer wrote last are still in the caches,
  // and the next layer starts to read at the front.
  void add_pixels() {
    const std::int64_t step = std::max(kMinPixels, kChunk / image_.width);
    for (std::int64_t end = image_.pixels; end > 0;) {
      const std::int64_t begin = std::max<std::int64_t>(0, end - step);
      const std::int64_t next = std::max<std::int64_t>(0, begin - step);
      const Ahead ahead = end == image_.pixels
                              ? counters_ahead()
                              : values_ahead(next * image_.width, begin * image_.width);
      const float* const values = image_.values + begin * image_.width;
      take(kernel().accumulate(values, end - begin, channels_.part(0, image_.width), ahead),
           (end - begin) * image_.width);
      counted_.visit(begin, end, [&](std::int64_t first, std::int64_t last) {
        count(first * image_.width, (last - first) * image_.width);
      });
      end = begin;
    }
  }

  // Value i of a channel is added to sum i modulo kPartialSums.
  void add_planes() {
    ChannelSums partial(kPartialSums);
    for (std::int64_t c = 0; c < image_.width; ++c) {
      partial.clear();
      for (std::int64_t begin = 0; begin < image_.pixels; begin += kChunk) {
        const std::int64_t end = std::min(image_.pixels, begin + kChunk);
        const std::int64_t at = c * image_.pixels + begin;
        const float* const values = image_.values + at;
        // Prefetches at a fixed distance, because most planes are shorter than a chunk.
        const std::int64_t next = std::min(at + kChunk, image_.size());
        const Ahead ahead =
            at == 0 ? counters_ahead() : values_ahead(next, std::min(next + kChunk, image_.size()));
        const std::int64_t whole = (end - begin) / kPartialSums * kPartialSums;
        Seen seen =
            kernel().accumulate(values, whole / kPartialSums, partial.part(0, kPartialSums), ahead);
        if (begin + whole < end) {  // the chunk's last values end the plane
          const Seen rest =
              kernel().accumulate(values + whole, 1, partial.part(0, end - begin - whole));
          seen = {std::min(seen.lowest, rest.lowest), std::max(seen.highest, rest.highest),
                  seen.finite && rest.finite, seen.nonzeros + rest.nonzeros};
        }
        take(seen, end - begin);
        counted_.visit(begin, end, [&](std::int64_t first, std::int64_t last) {
          count(c * image_.pixels + first, last - first);
        });
      }
      channels_.take(c, partial);
    }
  }

  // The memory that kernels prefetch while they sum: first the counters, then the next values, and
  // at the end the memory that the caller reads next.
  [[nodiscard]] Ahead counters_ahead() const {
    const std::span<const std::uint16_t> counters = histogram_.counters_to_fetch();
    return {counters.data(), static_cast<std::int64_t>(counters.size_bytes())};
  }
  [[nodiscard]] Ahead values_ahead(std::int64_t begin, std::int64_t end) const {
    if (begin == end) return afterwards_;
    return {image_.values + begin, (end - begin) * static_cast<std::int64_t>(sizeof(float))};
  }

  // Records the result of summing `size` values. This comes before they are counted, because the
  // histogram must know their extremes first.
  void take(const Seen& seen, std::int64_t size) {
    if (!seen.finite) refuse({image_.values, static_cast<std::size_t>(image_.size())});
    signs_ = seen.lowest < 0.0F ? Signs::kBoth : Signs::kPositive;
    seen_.zeros += size - seen.nonzeros;
    seen_.lowest = std::min(seen_.lowest, seen.lowest);
    seen_.highest = std::max(seen_.highest, seen.highest);
    histogram_.include(seen.lowest, seen.highest);
  }

  // Counts the `size` values from `begin` on.
  void count(std::int64_t begin, std::int64_t size) {
    for (std::int64_t at = 0; at < size; at += FloatHistogram::kMaxAtOnce) {
      const std::int64_t part = std::min(FloatHistogram::kMaxAtOnce, size - at);
      const CountingGrid grid = histogram_.prepare(part);
      histogram_.add_zeros(grid.counters == nullptr
                               ? part
                               : kernel().count(image_.values + begin + at, part,
                                                grid.cells_per_unit, signs_, grid.counters));
    }
  }

  ImageValues image_;
  CountedPixels counted_;
  ChannelSums& channels_;
  FloatHistogram& histogram_;
  Ahead afterwards_;
  Signs signs_ = Signs::kBoth;  // signs of the values that were summed last
  ImageSeen seen_;
};

}  // namespace

ImageSeen observe_image(const ImageValues& image, Counting counting, ChannelSums& channels,
                        FloatHistogram& histogram, const Ahead& afterwards) {
  return ImageObserver(image, counting, channels, histogram, afterwards).run();
}

}  // namespace qtool
