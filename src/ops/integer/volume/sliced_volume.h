#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/operator.h"

namespace qtool {

/// A volume [C, depth, H, W] of bytes as channels-last slices, for the kernels for images. A
/// convolution over three axes computes each slice of its result from an image that has the
/// channels of all slices that its window covers.
class SlicedVolume {
 public:
  /// For the volumes of an input [N, C, depth, H, W]. `padding` is the byte that stands for 0.
  SlicedVolume(const Shape& input, std::int64_t groups, std::uint8_t padding);

  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] std::int64_t pixels() const { return pixels_; }  ///< pixels of a slice
  [[nodiscard]] std::int64_t bytes() const { return channels_ * depth_ * pixels_; }

  /// Copies a volume [C, depth, H, W] to slices [depth, H, W, C].
  void sort(const std::byte* volume, std::byte* slices, int threads) const;
  /// Makes the image [pixels][groups][taps][C / groups] of the slices first, first + step, ... that
  /// sort() made. Slices outside of the volume are padding.
  void gather(const std::byte* slices, std::int64_t first, std::int64_t step, std::int64_t taps,
              std::byte* image, int threads) const;

 private:
  std::int64_t groups_;
  std::int64_t channels_;
  std::int64_t depth_;
  std::int64_t pixels_;
  std::byte padding_;
};

/// Copies elements of `bytes` bytes from the order [positions, C] to [C, positions].
void sort_back(const std::byte* from, std::int64_t positions, std::int64_t channels,
               std::int64_t bytes, std::byte* to, int threads);

}  // namespace qtool
