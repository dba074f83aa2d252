#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qtool {

/// The divergences of every clipping candidate of a histogram of magnitudes.
/// Candidate i keeps the first i bins. P consists of these bins, with the clipped tail added to the
/// last one. Q consists of these bins without the tail, merged into `levels` levels (bin j to level
/// floor(j levels / i)), and the sum of each level is spread evenly over its non-empty bins. Both
/// are normalised.
/// D = sum P ln(P / Q) over P > 0; infinite where Q = 0 and P > 0.
/// Cost: O(bins^2 / levels) logarithms and O(bins * levels) additions, 0.4 ms for 2048 and 128.
class WholeBinKl {
 public:
  /// Needs levels >= 1, and between `levels` and 2^17 counts, none of them negative. Their sum must
  /// be at most 2^53, so that double precision adds them exactly.
  WholeBinKl(std::span<const std::int64_t> counts, std::int64_t levels);

  /// D[i] for i = levels .. bins; element 0 belongs to i = levels.
  [[nodiscard]] const std::vector<double>& divergences() const noexcept { return divergences_; }

 private:
  std::vector<double> divergences_;
};

}  // namespace qtool
