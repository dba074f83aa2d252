#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/quant/affine.h"

namespace qtool {

class Statistics;  // what was observed of a tensor

/// Parameters of the calibration methods; a method ignores those it does not name.
struct MethodOptions {
  std::int64_t bins = 2048;   ///< kl: bins over [0, max|x|]
  std::int64_t levels = 128;  ///< kl: quantization levels of |x| that a threshold is judged by
  double percentile = 99.99;  ///< percentile: per cent of the values that are kept, both ends alike
  double momentum = 0.01;     ///< ema: weight of the newest image
  Scheme scheme;              ///< the integers that the range is chosen for
  friend bool operator==(const MethodOptions&, const MethodOptions&) = default;
};

/// A calibration method: the range of reals that integers shall cover, from statistics alone.
/// The result contains 0; without non-zero values it is [0, 0]. Throws Error(kUsage) for options
/// outside their domain.
using Method = Range (*)(const Statistics& statistics, const MethodOptions& options);

/// Properties that methods promise. The list of methods names those that a parity method breaks
/// because its original does.
enum class MethodProperty : std::uint8_t {
  kNone = 0,
  kInside = 1U << 0U,    ///< the range lies within the observed one, widened to 0
  kScaling = 1U << 1U,   ///< data times 2^k gives the range times 2^k
  kOrder = 1U << 2U,     ///< order and grouping of the images do not matter
  kZeros = 1U << 3U,     ///< kl family: added exact zeros do not move the range
  kSpike = 1U << 4U,     ///< kl family: a spike in the first bin does not move the range either
  kNoWorse = 1U << 5U,   ///< kl family: never noisier than the observed range
  kOneValue = 1U << 6U,  ///< a single value is covered exactly
};
constexpr MethodProperty operator|(MethodProperty a, MethodProperty b) noexcept {
  return static_cast<MethodProperty>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr MethodProperty operator&(MethodProperty a, MethodProperty b) noexcept {
  return static_cast<MethodProperty>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

/// A row of the list of methods.
struct MethodInfo {
  std::string_view name;
  MethodProperty breaks;     ///< those that it does not keep
  std::string_view summary;  ///< one sentence for help texts
  Method decide;
};

inline constexpr std::string_view kDefaultMethod = "kl";

/// Every method, sorted by name.
std::span<const MethodInfo> methods() noexcept;
std::vector<std::string> method_names();

/// What another tool calls a method.
struct MethodAlias {
  std::string_view alias;
  std::string_view name;
};

/// Every alias, sorted.
std::span<const MethodAlias> method_aliases() noexcept;

/// The method called `name`, or whose alias that is. Case is ignored; hyphens and spaces equal
/// underscores. Throws Error(kUsage) with the nearest names.
const MethodInfo& find_method(std::string_view name);

/// What kind of outputs a network has, for the choice that `auto` makes.
enum class Outputs : std::uint8_t {
  kVectors,  ///< one value per class or feature: at most one axis longer than 1
  kMaps,     ///< values per position: any output with more axes
};

}  // namespace qtool
