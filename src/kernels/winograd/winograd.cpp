#include "kernels/winograd/winograd.h"

namespace qtool {
namespace {

constexpr KernelRow<WinogradFunctions> kWinogradRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &winograd_##name},
#include "kernels/winograd/winograd.inc"
#undef QTOOL_KERNEL
};

// A row of G: the powers of a point over the product of its differences from the other points.
constexpr double kOfZero = kWinogradNear2 * kWinogradFar2;
constexpr double kOfNear = 2 * kWinogradNear2 * (kWinogradNear2 - kWinogradFar2);
constexpr double kOfFar = 2 * kWinogradFar2 * (kWinogradFar2 - kWinogradNear2);
constexpr double kG[kWinogradSide][3] = {
    {1 / kOfZero, 0, 0},
    {1 / kOfNear, kWinogradNear / kOfNear, kWinogradNear2 / kOfNear},
    {1 / kOfNear, -kWinogradNear / kOfNear, kWinogradNear2 / kOfNear},
    {1 / kOfFar, kWinogradFar / kOfFar, kWinogradFar2 / kOfFar},
    {1 / kOfFar, -kWinogradFar / kOfFar, kWinogradFar2 / kOfFar},
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
