#include "quantize/weights/integer_weights.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/channel_walk.h"
#include "quantize/weights/integer_bias.h"

namespace qtool {
namespace {

void require_finite(std::span<const float> values, std::string_view what) {
  if (!all_finite(values)) {
    throw Error(ErrorCode::kInvalidArgument, to_text(what, ": found NaN or infinity"));
  }
}

}  // namespace

std::int32_t largest_magnitude(const Scheme& scheme) {
  const Limits limits = limits_of(scheme);
  return scheme.symmetry == Symmetry::kSymmetric ? limits.max : limits.max - limits.min;
}

Affines choose_weight_affines(const Tensor& weights, std::int64_t axis, std::string_view method,
                              const Scheme& scheme, Granularity granularity,
                              std::span<const float> bias, float input_scale, int threads) {
  const WeightMethodInfo& info = find_weight_method(method);
  const auto values = weights.values<float>();
  require_finite(values, "weights");
  require_finite(bias, "bias");
  const ChannelWalk walk(weights.shape(), axis);
  const std::int64_t slices = granularity == Granularity::kPerChannel ? walk.channels : 1;
  const auto per_slice =
      static_cast<std::size_t>(walk.outer * walk.inner * (slices == 1 ? walk.channels : 1));
  // The weights of each slice must be adjacent. They are already when the channels are the
  // outermost axis.
  std::vector<float> gathered;
  std::span<const float> ordered = values;
  if (slices > 1 && walk.outer > 1) {
    gathered.resize(values.size());
    std::vector<std::size_t> next(static_cast<std::size_t>(slices));
    for (std::size_t c = 0; c < next.size(); ++c) next[c] = c * per_slice;
    walk.each([&](std::size_t channel, std::size_t i) { gathered[next[channel]++] = values[i]; });
    ordered = gathered;
  }
  Affines affines;
  if (granularity == Granularity::kPerChannel) affines.axis = axis;
  affines.scales.resize(static_cast<std::size_t>(slices));
  affines.zero_points.resize(affines.scales.size());
  parallel_items(slices, resolve_threads(threads), [&](std::int64_t slice, int) {
    const auto i = static_cast<std::size_t>(slice);
    const Affine affine = info.choose(ordered.subspan(i * per_slice, per_slice), scheme);
    affines.scales[i] = affine.scale;
    affines.zero_points[i] = affine.zero_point;
  });
  if (scheme.symmetry == Symmetry::kSymmetric) affines.zero_points.clear();
  affines.scales = fit_scales(std::move(affines.scales), bias, input_scale,
                              weights.elements() / std::max<std::int64_t>(walk.channels, 1),
                              largest_magnitude(scheme));
  return affines;
}

Tensor quantize_weights(const Tensor& weights, const Scheme& scheme, const Affines& affines) {
  const ChannelWalk walk(weights.shape(), affines.per_tensor() ? 0 : affines.axis);
  const std::vector<float>& scales = affines.scales;
  const std::vector<std::int32_t>& zero_points = affines.zero_points;
  if (scales.size() != 1 && static_cast<std::int64_t>(scales.size()) != walk.channels) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("weight scales: found ", scales.size(), ", expected 1 or ", walk.channels));
  }
  if (!zero_points.empty() && zero_points.size() != scales.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("weight zero points: found ", zero_points.size(), ", expected none or ",
                        scales.size()));
  }
  const Limits limits = limits_of(scheme);
  Tensor quantized(DType::kInt8, weights.shape());
  const auto from = weights.values<float>();
  const auto to = quantized.values<std::int8_t>();
  walk.each([&](std::size_t channel, std::size_t i) {
    to[i] = static_cast<std::int8_t>(quantize_value(from[i], affines.at(channel), limits));
  });
  return quantized;
}

Tensor dequantize_weights(const Tensor& integers, const Affines& affines) {
  const ChannelWalk walk(integers.shape(), affines.per_tensor() ? 0 : affines.axis);
  Tensor reals(DType::kFloat32, integers.shape());
  const auto from = integers.values<std::int8_t>();
  const auto to = reals.values<float>();
  walk.each([&](std::size_t channel, std::size_t i) {
    to[i] = dequantize_value(from[i], affines.at(channel));
  });
  return reals;
}

}  // namespace qtool
