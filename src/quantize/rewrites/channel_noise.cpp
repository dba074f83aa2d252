#include "quantize/rewrites/channel_noise.h"

#include <algorithm>
#include <cmath>

namespace qtool {
namespace {

/// The decay d of values that are 0 or exponentially distributed, from their mean and the largest
/// of `count`: mean = share d, largest = d ln(share count).
double decay_of(double mean, double largest, double count) {
  // Begins with half of the values not 0. The iteration then converges to within a few per cent.
  double decay = largest / std::log(std::max(count / 2.0, 3.0));
  for (int step = 0; step < 8; ++step) {
    const double share = std::min(1.0, mean / decay);
    decay = largest / std::log(std::max(share * count, 3.0));
  }
  return decay;
}

}  // namespace

ChannelModel::ChannelModel(const Observed& observed, std::size_t channel, double count)
    : count_(count) {
  const double low = observed.channel_mins[channel];
  const double high = observed.channel_maxs[channel];
  const double mean = observed.channel_means[channel];
  if (low >= 0.0) {
    if (high <= 0.0) return;
    const double decay = decay_of(mean, high, count);
    up_ = {high, decay};
    share_ = std::min(1.0, mean / decay);
    power_ = 2.0 * mean * decay;
    return;
  }
  const double logarithm = std::log(std::max(count, 3.0));
  up_ = {high, (high - mean) / logarithm};
  down_ = {-low, (mean - low) / logarithm};
  power_ = mean * mean + up_.decay * up_.decay + down_.decay * down_.decay;
}

Range ChannelModel::reach() const noexcept {
  constexpr double kTimes = 2.302585092994046;  // ln 10: distance in units of the decay
  return {static_cast<float>(std::min(0.0, -down_.extreme - kTimes * down_.decay)),
          static_cast<float>(std::max(0.0, up_.extreme + kTimes * up_.decay))};
}

double ChannelModel::beyond(const Tail& tail, double limit) const {
  if (tail.decay <= 0.0) return 0.0;
  const double probability = std::min(1.0, std::exp((tail.extreme - limit) / tail.decay) / count_);
  return 2.0 * tail.decay * tail.decay * probability;
}

double ChannelModel::noise(double step, double low, double high) const {
  return share_ * step * step / 12.0 + beyond(up_, high) + beyond(down_, -low);
}

double factor_of_step(std::int64_t step) { return std::exp2(-static_cast<double>(step) / 4.0); }

std::int64_t step_from(double factor) {
  constexpr double kNudge = 1e-6;  // so that the factor of a step gives this step again
  const double step = std::floor(-4.0 * std::log2(factor) + kNudge);
  return static_cast<std::int64_t>(std::clamp(step, static_cast<double>(kFirstFactorStep),
                                              static_cast<double>(kLastFactorStep)));
}

double factor_at(std::size_t step) { return factor_of_step(static_cast<std::int64_t>(step)); }

double used_share(const Range& channel, const Range& range) {
  const double up = range.max > 0.0F ? double{channel.max} / range.max : 0.0;
  const double down = range.min < 0.0F ? double{channel.min} / range.min : 0.0;
  return std::clamp(std::max(up, down), 0.0, 1.0);
}

namespace {

/// The noise of all channels if each has the factor with the least noise.
double least_noise(const Range& range, double step, std::span<const ChannelUse> channels) {
  double noise = 0.0;
  for (const ChannelUse& channel : channels) {
    const double least = used_share(channel.range, range);
    double best = channel.model.noise(step, range.min, range.max);
    for (std::size_t k = 1; k < kFactorSteps && channel.free && least > 0.0; ++k) {
      const double r = factor_at(k);
      if (r < least) break;
      best = std::min(best, channel.model.noise(step * r, range.min * r, range.max * r));
    }
    noise += best * channel.gain;
  }
  return noise;
}

}  // namespace

Range widen_range(const Range& range, double step, std::span<const ChannelUse> channels) {
  constexpr float kFiner = 1.25F;
  constexpr float kWidest = 64.0F;
  if (range.min >= 0.0F || range.max <= 0.0F) return range;
  Range chosen = range;
  double least = least_noise(range, step, channels);
  for (float by = kFiner; by <= kWidest; by *= kFiner) {
    for (const Range& wider :
         {Range{range.min * by, range.max}, Range{range.min, range.max * by}}) {
      const double noise = least_noise(wider, step * width(wider) / width(range), channels);
      if (noise >= least) continue;
      least = noise;
      chosen = wider;
    }
  }
  return chosen;
}

}  // namespace qtool
