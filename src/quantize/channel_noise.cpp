#include "quantize/channel_noise.h"

#include <algorithm>
#include <cmath>

namespace qtool {
namespace {

/// The decay d of values that are 0 or exponentially distributed, from their mean and the largest
/// of `count`: mean = share d, largest = d ln(share count).
double decay_of(double mean, double largest, double count) {
  // Half of the values are not 0 to begin with; the steps converge within a few per cent.
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

double ChannelModel::beyond(const Tail& tail, double limit) const {
  if (tail.decay <= 0.0) return 0.0;
  const double probability = std::min(1.0, std::exp((tail.extreme - limit) / tail.decay) / count_);
  return 2.0 * tail.decay * tail.decay * probability;
}

double ChannelModel::noise(double step, double low, double high) const {
  return share_ * step * step / 12.0 + beyond(up_, high) + beyond(down_, -low);
}

}  // namespace qtool
