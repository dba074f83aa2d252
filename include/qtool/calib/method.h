#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/quant/affine.h"

namespace qtool {

class Statistics;  // statistics of one tensor, in src/calib/statistics.h

/// Parameters of the calibration methods. A comment that begins with the name of a method says that
/// only this method uses the parameter.
struct MethodOptions {
  std::int64_t bins = 2048;   ///< kl: bins over [0, max|x|]
  std::int64_t levels = 128;  ///< kl: quantization levels of |x| used to judge a threshold
  double percentile = 99.99;  ///< percentile: per cent of values kept; both ends lose equally
  double momentum = 0.01;     ///< ema: weight of the newest image
  Scheme scheme;              ///< the integers that the range is chosen for
  friend bool operator==(const MethodOptions&, const MethodOptions&) = default;
};

/// A calibration method: chooses the range of reals that the integers cover, from the statistics
/// alone. The range contains 0. It is [0, 0] when all values are zero. Throws Error(kUsage) for
/// options outside their domain.
using Method = Range (*)(const Statistics& statistics, const MethodOptions& options);

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

/// A row of the list of methods.
struct MethodInfo {
  std::string_view name;
  MethodProperty breaks;     ///< properties that it does not keep
  std::string_view summary;  ///< one sentence for help texts
  Method decide;
};

inline constexpr std::string_view kDefaultMethod = "kl";

/// Every method, sorted by name.
std::span<const MethodInfo> methods() noexcept;
std::vector<std::string> method_names();

/// A name that another tool uses for a method.
struct MethodAlias {
  std::string_view alias;
  std::string_view name;
};

/// Every alias, sorted.
std::span<const MethodAlias> method_aliases() noexcept;

/// The method with this name or alias. Case is ignored; hyphens and spaces count as underscores.
/// Throws Error(kUsage) with the nearest names.
const MethodInfo& find_method(std::string_view name);

/// The kind of outputs of a network. The method `auto` uses it for its choice.
enum class Outputs : std::uint8_t {
  kVectors,  ///< one value per class or feature: at most one axis longer than 1
  kMaps,     ///< values per position: any output with more such axes
};

}  // namespace qtool
