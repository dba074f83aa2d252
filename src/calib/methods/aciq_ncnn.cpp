#include <cmath>

#include "calib/statistics.h"
#include "qtool/calib/method.h"

namespace qtool {
namespace {

constexpr double kAlphaEightBits = 4.2396;
constexpr double kAlphaSixBits = 3.5512;

}  // namespace

/// The threshold that ncnn computes with `method=aciq`: T = max|x| alpha / sqrt(2 ln N), as if
/// max|x| were the expected maximum of N normal values. N is the number of values of one image. T
/// exceeds max|x| for N below about 8,000. Exists for parity with ncnn; `aciq` measures the
/// deviation instead. Cost: none.
/// Source: ncnn, tools/quantize/ncnn2table.cpp (alpha 4.2396; 3.5512 with 6 bits or fewer).
Range method_aciq_ncnn(const Statistics& statistics, const MethodOptions& options) {
  const Range observed = statistics.range();
  if (statistics.images() == 0 || statistics.absmax() == 0.0F) return observed;
  const double values = static_cast<double>(statistics.count() / statistics.images());
  if (values < 2.0) return observed;
  const double alpha = options.scheme.bits <= 6 ? kAlphaSixBits : kAlphaEightBits;
  const auto threshold =
      static_cast<float>(statistics.absmax() * alpha / std::sqrt(2.0 * std::log(values)));
  if (!std::isfinite(threshold)) return observed;
  return {observed.min < 0.0F ? -threshold : 0.0F, observed.max > 0.0F ? threshold : 0.0F};
}

}  // namespace qtool
