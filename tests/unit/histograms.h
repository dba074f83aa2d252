#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "quant/histogram.h"

namespace qtool {

inline FloatHistogram histogram_of(const std::vector<float>& values) {
  FloatHistogram histogram;
  histogram.observe(values);
  return histogram;
}

inline std::vector<float> normal_values(std::int64_t count, float scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace qtool
