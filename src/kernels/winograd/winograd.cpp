#include "kernels/winograd/winograd.h"

namespace qtool {
namespace {

constexpr KernelRow<WinogradFunctions> kWinogradRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &winograd_##name},
#include "kernels/winograd/winograd.inc"
#undef QTOOL_KERNEL
};

constexpr double kPointNear = double{kWinogradNear};
constexpr double kPointFar = double{kWinogradFar};
// A row of G: the powers of a point over the product of its differences from the other points.
constexpr double kOfZero = kPointNear * kPointNear * kPointFar * kPointFar;
constexpr double kOfNear =
    2 * kPointNear * kPointNear * (kPointNear * kPointNear - kPointFar * kPointFar);
constexpr double kOfFar =
    2 * kPointFar * kPointFar * (kPointFar * kPointFar - kPointNear * kPointNear);
constexpr double kG[kWinogradSide][3] = {
    {1 / kOfZero, 0, 0},
    {1 / kOfNear, kPointNear / kOfNear, kPointNear* kPointNear / kOfNear},
    {1 / kOfNear, -kPointNear / kOfNear, kPointNear* kPointNear / kOfNear},
    {1 / kOfFar, kPointFar / kOfFar, kPointFar* kPointFar / kOfFar},
    {1 / kOfFar, -kPointFar / kOfFar, kPointFar* kPointFar / kOfFar},
    {0, 0, 1}};

}  // namespace

std::span<const KernelRow<WinogradFunctions>> winograd_kernels() noexcept { return kWinogradRows; }

void winograd_weights(const double (&filter)[9], double (&places)[kWinogradPlaces]) {
  double half[kWinogradSide][3];
  for (int i = 0; i < kWinogradSide; ++i) {
    for (int j = 0; j < 3; ++j) {
      half[i][j] = kG[i][0] * filter[j] + kG[i][1] * filter[3 + j] + kG[i][2] * filter[6 + j];
    }
  }
  for (int i = 0; i < kWinogradSide; ++i) {
    for (int j = 0; j < kWinogradSide; ++j) {
      places[i * kWinogradSide + j] =
          half[i][0] * kG[j][0] + half[i][1] * kG[j][1] + half[i][2] * kG[j][2];
    }
  }
}

}  // namespace qtool
