#pragma once

#include <cstdint>

namespace qtool {

/// Winograd's method for 3x3 filters of stride 1, in tiles of 4x4 results: F(4x4, 3x3) with the
/// points 0, a, -a, b, -b and infinity (Lavin and Gray, "Fast Algorithms for Convolutional Neural
/// Networks", 2016). y = A^T [(G g G^T) . (B^T d B)] A, where the product is a sum over channels at
/// each of 36 places.
inline constexpr int kWinogradTile = 4;                  ///< rows and columns of a tile of results
inline constexpr int kWinogradSide = kWinogradTile + 2;  ///< rows and columns that a tile reads
inline constexpr int kWinogradPlaces = kWinogradSide * kWinogradSide;
/// a and b, and their squares. All powers and products of the method are exact. Its results are 3
/// times more exact than with 1 and 2.
inline constexpr float kWinogradNear = 0.625F;
inline constexpr float kWinogradFar = 1.5F;
inline constexpr float kWinogradNear2 = kWinogradNear * kWinogradNear;
inline constexpr float kWinogradFar2 = kWinogradFar * kWinogradFar;

/// One tile of the source: place k = 6 i + j of B^T d B goes to places[k * step + c].
struct WinogradSource {
  const float* pixels[kWinogradPlaces];  ///< `channels` floats each
  std::int64_t channels;
  float* places;
  std::int64_t step;  ///< at least `channels`
};

/// One tile of results: y = A^T m A + bias + residual, then the clamp, in this order.
struct WinogradResult {
  const float* places;  ///< place k of m at places[k * step + c]
  std::int64_t step;
  std::int64_t channels;
  const float* bias;                                      ///< [channels]
  const float* residuals[kWinogradTile * kWinogradTile];  ///< null: none for the pixel
  float* pixels[kWinogradTile * kWinogradTile];
  float low;  ///< y < low becomes low; NaN stays NaN
  float high;
};

struct WinogradFunctions {
  void (*source)(const WinogradSource& tile);
  void (*result)(const WinogradResult& tile);
};

#define QTOOL_KERNEL(name) extern const WinogradFunctions winograd_##name;
#include "kernels/winograd/winograd.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
