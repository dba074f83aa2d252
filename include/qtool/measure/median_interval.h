#pragma once

namespace qtool {

/// A median, and the interval that holds the true one with a confidence of 95 %.
struct MedianInterval {
  double median = 0.0;
  double low = 0.0;
  double high = 0.0;
};

}  // namespace qtool
