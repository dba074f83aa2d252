#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/statistics.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// Parameters of the calibration methods; a method ignores those it does not name.
struct MethodOptions {
  std::int64_t bins = 2048;   ///< kl: bins over [0, max|x|]
  std::int64_t levels = 128;  ///< kl: quantization levels of |x| that a threshold is judged by
  Scheme scheme;              ///< the integers that the range is chosen for
  friend bool operator==(const MethodOptions&, const MethodOptions&) = default;
};

/// A calibration method: the range of reals that integers shall cover, from statistics alone.
/// The result contains 0 and lies within the observed range widened to 0; without non-zero values
/// it is [0, 0]. Throws Error(kUsage) for options outside their domain.
using Method = Range (*)(const Statistics& statistics, const MethodOptions& options);

/// A row of the list of methods.
struct MethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one sentence for help texts
  Method decide;
};

/// Every method, sorted by name.
std::span<const MethodInfo> methods() noexcept;
std::vector<std::string> method_names();

/// The method called `name`. Throws Error(kUsage) with the nearest names.
const MethodInfo& find_method(std::string_view name);

/// [max(min, -threshold), min(max, threshold)] of the observed range widened to 0.
Range clipped_range(const Statistics& statistics, double threshold) noexcept;

}  // namespace qtool
