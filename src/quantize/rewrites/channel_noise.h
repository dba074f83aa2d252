#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "qtool/calib/table.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// A model of the distribution of the values of one channel, made from their mean, extremes and
/// number. Values of an activation after Relu are 0 or exponentially distributed. The distribution
/// of other values falls off exponentially on both sides of the mean. The model gives the noise of
/// the integers, and how often values will saturate that lie beyond all values seen in calibration.
class ChannelModel {
 public:
  /// `count`: how many independent values of the channel were observed.
  ChannelModel(const Observed& observed, std::size_t channel, double count);

  /// Mean of the squares.
  [[nodiscard]] double power() const noexcept { return power_; }
  /// The range that the tails predict for ten times as many values as were observed: about one of
  /// them lies beyond it at each end. It contains 0.
  [[nodiscard]] Range reach() const noexcept;
  /// Mean square of the error if integers with the distance `step` cover [low, high], which
  /// contains 0.
  [[nodiscard]] double noise(double step, double low, double high) const;

 private:
  /// One end of the distribution: P(x beyond c) = exp(-(c - extreme) / decay) / count.
  struct Tail {
    double extreme = 0.0;  ///< distance from 0
    double decay = 0.0;
  };
  [[nodiscard]] double beyond(const Tail& tail, double limit) const;

  double count_;
  Tail up_;
  Tail down_;
  double share_ = 1.0;  ///< share of the values that are not 0; only these are rounded
  double power_ = 0.0;
};

/// The factors that a channel may have: 2^(-step / 4) for integer steps.
inline constexpr std::int64_t kFirstFactorStep = -32;
inline constexpr std::int64_t kLastFactorStep = 57;
double factor_of_step(std::int64_t step);
/// The step of the smallest of these factors that is not below `factor`, clamped to the first and
/// last step.
std::int64_t step_from(double factor);

/// The number of factors that equalization tries if each output channel has a scale: from 1 down to
/// 1/64.
inline constexpr std::size_t kFactorSteps = 25;
double factor_at(std::size_t step);

/// The share of `range` that a channel with these extremes uses: the larger share of the two sides,
/// at most 1.
double used_share(const Range& channel, const Range& range);

inline double width(const Range& range) { return double{range.max} - double{range.min}; }

/// A channel of a tensor that is equalized.
struct ChannelUse {
  ChannelModel model;
  Range range;        ///< of its values
  double gain = 1.0;  ///< noise of the network per unit of the channel's noise
  bool free = false;  ///< whether it may have a factor
};

/// Widens `range` on one side if that reduces the noise. The integers of `range` are `step` apart.
/// A channel with a factor r below 1 needs 1 / r times as much of both sides of the range, and one
/// side may have no room for that: all channels of a SiLU go down to -0.28, however far up they go.
/// In a wider range, small channels get finer steps and the other channels coarser ones. The range
/// with the least noise is returned, which may be `range` itself. Cost: a few hundred calls of
/// noise() per channel.
Range widen_range(const Range& range, double step, std::span<const ChannelUse> channels);

}  // namespace qtool
