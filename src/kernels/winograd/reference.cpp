#include "kernels/winograd/winograd.h"

namespace qtool {
namespace {

// B^T: the coefficients of the product of (x - other points), constant term first.
constexpr double kB[kWinogradSide][kWinogradSide] = {
    {kWinogradNear2 * kWinogradFar2, 0, -(kWinogradNear2 + kWinogradFar2), 0, 1, 0},
    {0, -kWinogradNear* kWinogradFar2, -kWinogradFar2, kWinogradNear, 1, 0},
    {0, kWinogradNear* kWinogradFar2, -kWinogradFar2, -kWinogradNear, 1, 0},
    {0, -kWinogradFar* kWinogradNear2, -kWinogradNear2, kWinogradFar, 1, 0},
    {0, kWinogradFar* kWinogradNear2, -kWinogradNear2, -kWinogradFar, 1, 0},
    {0, kWinogradNear2* kWinogradFar2, 0, -(kWinogradNear2 + kWinogradFar2), 0, 1}};
// A^T: the powers of the points.
constexpr double kA[kWinogradTile][kWinogradSide] = {
    {1, 1, 1, 1, 1, 0},
    {0, kWinogradNear, -kWinogradNear, kWinogradFar, -kWinogradFar, 0},
    {0, kWinogradNear2, kWinogradNear2, kWinogradFar2, kWinogradFar2, 0},
    {0, kWinogradNear2* kWinogradNear, -kWinogradNear2* kWinogradNear, kWinogradFar2* kWinogradFar,
     -kWinogradFar2* kWinogradFar, 1}};

/// The element (i, j) of M d M^T, where element(y, x) is an element of d.
template <typename Matrix, typename Element>
double transformed(const Matrix& m, int i, int j, const Element& element) {
  double sum = 0.0;
  for (int y = 0; y < kWinogradSide; ++y) {
    for (int x = 0; x < kWinogradSide; ++x) sum += m[i][y] * element(y, x) * m[j][x];
  }
  return sum;
}

}  // namespace

void reference_winograd_source(const WinogradSource& tile) {
  for (std::int64_t c = 0; c < tile.channels; ++c) {
    for (int k = 0; k < kWinogradPlaces; ++k) {
      tile.places[k * tile.step + c] = static_cast<float>(
          transformed(kB, k / kWinogradSide, k % kWinogradSide,
                      [&](int y, int x) { return double{tile.pixels[y * kWinogradSide + x][c]}; }));
    }
  }
}

void reference_winograd_result(const WinogradResult& tile) {
  for (std::int64_t c = 0; c < tile.channels; ++c) {
    for (int pixel = 0; pixel < kWinogradTile * kWinogradTile; ++pixel) {
      double y =
          transformed(kA, pixel / kWinogradTile, pixel % kWinogradTile, [&](int row, int column) {
            return double{tile.places[(row * kWinogradSide + column) * tile.step + c]};
          });
      y += double{tile.bias[c]};
      if (tile.residuals[pixel] != nullptr) y += double{tile.residuals[pixel][c]};
      if (y < double{tile.low}) y = double{tile.low};
      if (y > double{tile.high}) y = double{tile.high};
      tile.pixels[pixel][c] = static_cast<float>(y);
    }
  }
}

}  // namespace qtool
