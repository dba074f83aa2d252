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

/// A row of the list of methods.
struct MethodInfo {
  std::string_view name;
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
