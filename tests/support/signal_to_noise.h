#pragma once

#include <cmath>
#include <vector>

namespace qtool {

/// The signal-to-noise ratio in dB, by its definition. The tests do not rely on sqnr_db() of the
/// library.
inline double signal_to_noise(const std::vector<float>& reference,
                              const std::vector<float>& other) {
  double signal = 0.0;
  double noise = 1e-30;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double error = double{reference[i]} - double{other[i]};
    signal += double{reference[i]} * double{reference[i]};
    noise += error * error;
  }
  return 10.0 * std::log10(signal / noise);
}

}  // namespace qtool
