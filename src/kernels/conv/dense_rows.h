#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/conv/pack_weights.h"

namespace qtool {

/// The parts of a convolution that decide where its input rows are.
struct RowGeometry {
  ConvShape shape;  ///< pixel strides are not 0
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t in_channels = 1;
  std::int64_t group_channels = 1;
  std::int64_t row_bytes = 4;
  std::int64_t terms = 1;
  const std::uint8_t* input = nullptr;
  const std::uint8_t* zero_pixel = nullptr;  ///< in_channels bytes of the input zero point
  std::uint8_t zero_point = 0;
};

/// Where the input rows of a kernel call are.
enum class RowMode : std::uint8_t {
  kIndirect,  ///< in the input; taps are kernel positions
  kStrip,     ///< in a padded copy of the input rows that the pixels need; taps are kernel rows
  kPatches,   ///< in copies of each pixel's window of one group; taps are kernel rows
};

RowMode choose_row_mode(const ConvShape& shape, TapKind kind, std::int64_t groups);

/// The largest number of scratch bytes that `pixels` consecutive output pixels need.
std::int64_t scratch_bytes(const RowGeometry& geometry, RowMode mode, std::int64_t pixels);

/// Fills `table`, [term][tap][pitch], with pointers to the input rows of the output pixels
/// [first, first + count), which must belong to one image except in mode kIndirect. Mode kStrip
/// copies into `scratch`; mode kPatches only points into it.
void fill_rows(const RowGeometry& geometry, RowMode mode, std::int64_t first, std::int64_t count,
               std::int64_t pitch, const std::uint8_t** table, std::uint8_t* scratch);

/// Copies the windows of `group` to the places that fill_rows() pointed to in mode kPatches.
void copy_patches(const RowGeometry& geometry, std::int64_t group, std::int64_t first,
                  std::int64_t count, std::uint8_t* scratch);

}  // namespace qtool
