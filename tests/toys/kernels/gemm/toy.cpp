// A toy that differs from the other kernels in everything that a layout says.
#include <cstdint>

#include "kernels/gemm/contract.h"

namespace qtool {
namespace {

constexpr GemmLayout kToyLayout{
    .panel = 5, .group = 3, .max_panels = 3, .rows = 7, .input_offset = 128};

// The rows of all taps as signed bytes.
std::int64_t toy_scratch_bytes(const GemmSize& size) {
  return size.row_count * size.taps * size.row_bytes;
}

std::int8_t* signed_row(const GemmCall& call, std::int64_t tap, std::int64_t row) {
  return reinterpret_cast<std::int8_t*>(call.scratch) +
         (tap * call.row_count + row) * call.row_bytes;
}

void copy_rows(const GemmCall& call) {
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    for (std::int64_t row = 0; row < call.row_count; ++row) {
      const std::uint8_t* from = call.source == RowSource::kStrided
                                     ? call.base + row * call.row_stride
                                     : call.rows[tap * call.row_pitch + row] + call.row_offset;
      std::int8_t* to = signed_row(call, tap, row);
      for (std::int64_t k = 0; k < call.row_bytes; ++k) {
        to[k] = static_cast<std::int8_t>(from[k] - kToyLayout.input_offset);
      }
    }
  }
}

std::int32_t sum_of(const GemmCall& call, std::int64_t row, std::int64_t channel) {
  const std::int64_t groups = (call.row_bytes + kToyLayout.group - 1) / kToyLayout.group;
  auto sum = static_cast<std::uint32_t>(call.bias[channel]);
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::int8_t* bytes = signed_row(call, tap, row);
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t last = call.row_bytes - kToyLayout.group;
      const std::int64_t first = group * kToyLayout.group < last ? group * kToyLayout.group : last;
      const std::int64_t column = (tap * groups + group) * call.panels * kToyLayout.panel + channel;
      for (std::int64_t byte = 0; byte < kToyLayout.group; ++byte) {
        sum += static_cast<std::uint32_t>(bytes[first + byte] *
                                          call.weights[column * kToyLayout.group + byte]);
      }
    }
  }
  return static_cast<std::int32_t>(sum);
}

std::int32_t within(std::int32_t low, std::int32_t value, std::int32_t high) {
  return value < low ? low : value > high ? high : value;
}

std::uint8_t on_curve(const Curve& curve, std::int32_t sum, float multiplier,
                      const CurveFactor& factor) {
  const float number = __builtin_fmaf(static_cast<float>(sum), multiplier, curve.offset);
  const float inside = number < -32768.0F ? -32768.0F : number > 32767.0F ? 32767.0F : number;
  const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(__builtin_rintf(inside)));
  const auto segment = (bits & 0xffffU) >> static_cast<unsigned>(curve.place_bits);
  const auto place =
      static_cast<std::int32_t>(bits << static_cast<unsigned>(16 - curve.place_bits) & 0xffffU);
  std::int32_t y = 0;
  for (int i = 3; i >= 0; --i) {
    const std::int32_t product = (y * (place - 32768) + 16384) >> 15;
    const auto coefficient =
        static_cast<std::int16_t>(curve.low[i][segment] + 256 * curve.high[i][segment]);
    y = within(-32768, static_cast<std::int16_t>(product) + coefficient, 32767);
  }
  const auto product = static_cast<std::int16_t>((y * factor.fraction + 16384) >> 15);
  const std::int32_t most = 32767 >> factor.shift;
  const std::int32_t z = within(-most, product, most) * (1 << factor.shift);
  return static_cast<std::uint8_t>(within(0, ((z + 64) >> 7) + curve.zero_point, 255));
}

void store(const GemmCall& call, std::int64_t row, std::int64_t channel, std::int32_t sum) {
  const std::int64_t at = row * call.output_stride + channel;
  if (call.output_type == OutputType::kInt32) {
    static_cast<std::int32_t*>(call.output)[at] = sum;
    return;
  }
  float real = static_cast<float>(sum) * call.multiplier[channel];
  if (call.output_type == OutputType::kFloat32) {
    real +=
        call.onto == nullptr ? call.addend[channel] : call.onto[row * call.onto_stride + channel];
    static_cast<float*>(call.output)[at] = real;
    return;
  }
  if (call.curve != nullptr) {
    static_cast<std::uint8_t*>(call.output)[at] =
        on_curve(*call.curve, sum, call.multiplier[channel], call.factors[channel]);
    return;
  }
  if (call.negative != nullptr && sum < 0) {
    real = static_cast<float>(sum) * call.negative[channel];
  }
  if (call.residual != nullptr) {
    const std::int32_t q = call.residual[row * call.residual_stride + channel];
    real += static_cast<float>(q - call.residual_zero) * call.residual_multiplier;
  }
  const float least = static_cast<float>(call.low - call.zero_point);
  const float most = static_cast<float>(call.high - call.zero_point);
  const float clamped = real < least ? least : real > most ? most : real;
  static_cast<std::uint8_t*>(call.output)[at] = static_cast<std::uint8_t>(
      static_cast<std::int32_t>(__builtin_rintf(clamped)) + call.zero_point);
}

void run(const GemmCall& call) {
  copy_rows(call);
  for (std::int64_t row = 0; row < call.row_count; ++row) {
    for (std::int64_t channel = 0; channel < call.channels; ++channel) {
      store(call, row, channel, sum_of(call, row, channel));
    }
  }
}

}  // namespace

constexpr GemmFunctions gemm_toy = {run, kToyLayout, toy_scratch_bytes};

}  // namespace qtool
