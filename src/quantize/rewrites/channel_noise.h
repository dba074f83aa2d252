#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "qtool/calib/table.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// What the values of one channel look like, as far as mean, extremes and number tell: those of an
/// activation after Relu are 0 or exponentially distributed, others fall off exponentially on both
/// sides of their mean. From this follow the noise of their integers and how often values beyond
/// all that calibration saw will saturate.
class ChannelModel {
 public:
  /// `count`: how many independent values of the channel were observed.
  ChannelModel(const Observed& observed, std::size_t channel, double count);

  /// Mean of the squares.
  [[nodiscard]] double power() const noexcept { return power_; }
  /// What of the values all but about one in ten times as many will lie within, as far as the tails
  /// tell. 0 is in it.
  [[nodiscard]] Range reach() const noexcept;
  /// Mean square of the error when integers of distance `step` cover [low, high], 0 included.
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
  double share_ = 1.0;  ///< of the values that are not 0, which alone are rounded
  double power_ = 0.0;
};

/// The factors that a channel may have are a quarter of an octave apart: 2^(-step / 4).
inline constexpr std::int64_t kFirstFactorStep = -32;
inline constexpr std::int64_t kLastFactorStep = 57;
double factor_of_step(std::int64_t step);
/// The step of the smallest of them that is not below `factor`, or the nearest end.
std::int64_t step_from(double factor);

/// Those that equalization tries where each output channel has a scale: from 1 down to 1/64.
inline constexpr std::size_t kFactorSteps = 25;
double factor_at(std::size_t step);

/// How much of a range a channel with these extremes uses: the larger one of its two sides, at most
/// 1.
double used_share(const Range& channel, const Range& range);

inline double width(const Range& range) { return double{range.max} - double{range.min}; }

/// A channel of a tensor that is equalized.
struct ChannelUse {
  ChannelModel model;
  Range range;        ///< of its values
  double gain = 1.0;  ///< what one unit of its noise adds to the noise of the network
  bool free = false;  ///< whether it may have a factor
};

/// A factor below 1 needs as much more of both sides of a range, and one side may have no room: all
/// channels of a SiLU go down to -0.28, however far up they go. This widens `range`, whose integers
/// are `step` apart, on one side to where the finer steps of small channels outweigh the coarser
/// ones of the others; or not at all. Cost: a few hundred noise() per channel.
Range widen_range(const Range& range, double step, std::span<const ChannelUse> channels);

}  // namespace qtool
