#pragma once

#include <cstdint>

#include "kernels/wide_curve/contract.h"

// What the kernels for vectors share. Everything here is internal to the file that includes it.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see unroll.h

// Whether the results have a low byte, and whether there are factors.
enum class Bytes : std::uint8_t { kHigh, kBoth };
enum class Factors : std::uint8_t { kNone, kSome };

// Numbers that are converted together, each with its factor.
struct Line {
  const float* in;
  const float* factors;
  std::int64_t count;
  std::uint8_t* high;
  std::uint8_t* low;
};

// Converts the pixels of a call line by line. Without factors, all of them are one line. `Kernel`
// is made from the curve, and `run<Bytes, Factors>()` of it converts a line.
template <typename Kernel>
void run_lines(const WideCurve& curve, const WideCurveCall& call) {
  const Kernel kernel(curve);
  const bool both = call.low != nullptr;
  if (call.factors == nullptr) {
    const Line line{call.in, nullptr, call.pixels * call.channels, call.high, call.low};
    return both ? kernel.template run<Bytes::kBoth, Factors::kNone>(line)
                : kernel.template run<Bytes::kHigh, Factors::kNone>(line);
  }
  Line line{call.in, call.factors, call.channels, call.high, call.low};
  for (std::int64_t pixel = 0; pixel < call.pixels; ++pixel) {
    if (both) {
      kernel.template run<Bytes::kBoth, Factors::kSome>(line);
      line.low += call.channels;
    } else {
      kernel.template run<Bytes::kHigh, Factors::kSome>(line);
    }
    line.in += call.channels;
    line.high += call.channels;
  }
}

}  // namespace
}  // namespace qtool
