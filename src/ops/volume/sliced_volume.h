#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/operator.h"

namespace qtool {

/// A volume [C, depth, H, W] of bytes as slices whose pixels have their channels together, for the
/// kernels of images: what a convolution over three axes computes one slice of is an image whose
/// channels are those of all slices that the kernel covers.
class SlicedVolume {
 public:
  /// Of input 0 [N, C, depth, H, W]; `padding` stands for 0.
  SlicedVolume(const Shape& input, std::int64_t groups, std::uint8_t padding);

  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] std::int64_t pixels() const { return pixels_; }  ///< of a slice
  [[nodiscard]] std::int64_t bytes() const { return channels_ * depth_ * pixels_; }

  /// [C, depth, H, W] as [depth, H, W, C].
  void sort(const std::byte* volume, std::byte* slices, int threads) const;
  /// The image [pixels][groups][taps][C / groups] of the slices first, first + step ... of what
  /// sort() made; those outside of the volume are padding.
  void gather(const std::byte* slices, std::int64_t first, std::int64_t step, std::int64_t taps,
              std::byte* image, int threads) const;

 private:
  std::int64_t groups_;
  std::int64_t channels_;
  std::int64_t depth_;
  std::int64_t pixels_;
  std::byte padding_;
};

/// Elements of `bytes` bytes, [positions, C], as [C, positions].
void sort_back(const std::byte* from, std::int64_t positions, std::int64_t channels,
               std::int64_t bytes, std::byte* to, int threads);

}  // namespace qtool
