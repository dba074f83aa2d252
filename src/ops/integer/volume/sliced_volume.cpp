#include "ops/integer/volume/sliced_volume.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/stop.h"
#include "ops/strides.h"

namespace qtool {

SlicedVolume::SlicedVolume(const Shape& input, std::int64_t groups, std::uint8_t padding)
    : groups_(groups),
      channels_(input[1]),
      depth_(input[2]),
      pixels_(input[3] * input[4]),
      padding_(std::byte{padding}) {}

void SlicedVolume::sort(const std::byte* volume, std::byte* slices, int threads) const {
  const std::int64_t all = depth_ * pixels_;
  copy_strided(LoopNest<2>({channels_, all}, {std::vector<std::int64_t>{1, channels_},
                                              std::vector<std::int64_t>{all, 1}}),
               1, slices, volume, threads);
}

void SlicedVolume::gather(const std::byte* slices, std::int64_t first, std::int64_t step,
                          std::int64_t taps, std::byte* image, int threads) const {
  const std::int64_t each = channels_ / groups_;
  const bool small = pixels_ * channels_ * taps < kParallelElements;
  parallel_ranges(pixels_, small ? 1 : threads, [&](std::int64_t begin, std::int64_t end, int) {
    StopPace pace;
    for (std::int64_t p = begin; p < end; ++p) {
      std::byte* to = image + p * channels_ * taps;
      for (std::int64_t g = 0; g < groups_; ++g) {
        pace.step(taps * each);
        for (std::int64_t t = 0; t < taps; ++t, to += each) {
          const std::int64_t from = first + t * step;
          if (from < 0 || from >= depth_) {
            std::fill_n(to, each, padding_);
          } else {
            std::copy_n(slices + (from * pixels_ + p) * channels_ + g * each, each, to);
          }
        }
      }
    }
  });
}

void sort_back(const std::byte* from, std::int64_t positions, std::int64_t channels,
               std::int64_t bytes, std::byte* to, int threads) {
  copy_strided(LoopNest<2>({channels, positions}, {std::vector<std::int64_t>{positions, 1},
                                                   std::vector<std::int64_t>{1, channels}}),
               bytes, to, from, threads);
}

}  // namespace qtool
