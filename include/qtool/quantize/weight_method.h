#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/quant/affine.h"

namespace qtool {

/// A weight method: the scale and zero point of one slice of weights, finite numbers that share a
/// scale. The zero point is 0 for a symmetric scheme and that of the observed range otherwise.
/// Weights that are all zero get scale 0, which the caller replaces.
using WeightMethod = Affine (*)(std::span<const float> weights, const Scheme& scheme);

/// Whether multiplying all weights by a power of two multiplies the scale by exactly that.
enum class Homogeneity : std::uint8_t {
  kExact,
  kApproximate,  ///< not exactly: the original uses absolute constants
};

/// A row of the list of weight methods.
struct WeightMethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one phrase for help texts
  Homogeneity homogeneity;
  WeightMethod choose;
};

/// Every weight method, sorted by name.
std::span<const WeightMethodInfo> weight_methods() noexcept;

/// The weight method called `name`. Throws Error(kUsage) with the nearest names.
const WeightMethodInfo& find_weight_method(std::string_view name);

}  // namespace qtool
