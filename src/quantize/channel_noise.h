#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace qtool
