#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "calib/methods/whole_bin_kl.h"

namespace qtool {

/// The number of bins that the published search keeps: the largest candidate whose divergence is
/// within 1e-12 nats of the least divergence, and all bins if every other candidate is rejected.
/// Method `kl` has its own way to weigh thresholds, see docs/research/calibration.md.
inline std::int64_t least_divergence(const WholeBinKl& candidates, std::int64_t levels) {
  const auto& divergences = candidates.divergences();
  const double least = *std::min_element(divergences.begin(), divergences.end());
  auto best = std::ssize(divergences) - 1;
  if (std::isfinite(least)) {
    while (divergences[static_cast<std::size_t>(best)] > least + 1e-12) --best;
  }
  return levels + best;
}

}  // namespace qtool
