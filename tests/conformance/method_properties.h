// Properties of calibration methods and of weight methods that their lists name and only the tests
// read.
#pragma once

#include <cstdint>
#include <string_view>

#include "qtool/calib/method.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// Properties that calibration methods keep. The list of methods names the properties that a method
/// breaks, for example because it copies a tool that breaks them.
enum class MethodProperty : std::uint8_t {
  kNone = 0,
  kInside = 1U << 0U,    ///< the range lies within the observed range, widened to contain 0
  kScaling = 1U << 1U,   ///< data times 2^k gives the range times 2^k
  kOrder = 1U << 2U,     ///< order and grouping of the images do not matter
  kZeros = 1U << 3U,     ///< kl family: added exact zeros do not move the range
  kSpike = 1U << 4U,     ///< kl family: a spike in the first bin does not move the range
  kNoWorse = 1U << 5U,   ///< kl family: never noisier than the observed range
  kOneValue = 1U << 6U,  ///< a single value is covered exactly
};
constexpr MethodProperty operator|(MethodProperty a, MethodProperty b) noexcept {
  return static_cast<MethodProperty>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr MethodProperty operator&(MethodProperty a, MethodProperty b) noexcept {
  return static_cast<MethodProperty>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

/// The properties that the method called `name` does not keep.
inline MethodProperty broken_by(std::string_view name) {
  using enum MethodProperty;
#define QTOOL_METHOD(method, breaks, summary) \
  if (name == #method) return breaks;
#include "calib/methods/methods.inc"
  return kNone;
}

/// Whether multiplying all weights by a power of two multiplies the scale by exactly the same
/// power. kApproximate: not exactly, because the original uses absolute constants.
enum class Homogeneity : std::uint8_t { kExact, kApproximate };

/// The homogeneity of the weight method called `name`.
inline Homogeneity homogeneity_of(std::string_view name) {
  using enum Homogeneity;
#define QTOOL_WEIGHT_METHOD(method, homogeneity, summary) \
  if (name == #method) return homogeneity;
#include "quantize/weights/weight_methods.inc"
  return kExact;
}

}  // namespace qtool
