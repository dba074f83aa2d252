#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/round_up.h"
#include "kernels/curve_byte.h"
#include "kernels/gemm/gemm.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

const std::uint8_t* tap_row(const GemmCall& call, std::int64_t tap, std::int64_t row) {
  if (call.source == RowSource::kStrided) return call.base + row * call.row_stride;
  return call.rows[tap * call.row_pitch + row] + call.row_offset;
}

// The sum of the products of a group of bytes and a channel's weights for them.
std::int64_t group_sum(const GemmLayout& layout, const std::uint8_t* bytes,
                       const std::int8_t* weights) {
  std::int64_t sum = 0;
  for (std::int64_t byte = 0; byte < layout.group; ++byte) {
    sum += std::int64_t{bytes[byte] - layout.input_offset} * weights[byte];
  }
  return sum;
}

// The sum over all steps for a channel.
std::int64_t sum_of_steps(const GemmCall& call, const GemmLayout& layout, std::int64_t row,
                          std::int64_t channel) {
  const std::int64_t panel_bytes = layout.panel * layout.group;
  const std::int8_t* weights = call.weights;
  std::int64_t sum = 0;
  std::int64_t step = 0;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* bytes = tap_row(call, tap, row);
    for (int order = 0; order < kByteOrders; ++order) {
      for (; step < call.steps[tap].narrow_end[order]; ++step, weights += panel_bytes) {
        std::uint8_t group[4];
        for (int i = 0; i < 4; ++i) group[i] = bytes[call.starts[step] + kByteOrder[order][i]];
        sum += group_sum(layout, group, weights + channel * layout.group);
      }
    }
    for (; step < call.steps[tap].wide_end; ++step, weights += 2 * panel_bytes) {
      for (std::int64_t byte = 0; byte < layout.group; ++byte) {
        std::int16_t weight = 0;
        std::memcpy(&weight,
                    weights + byte % 2 * panel_bytes + channel * layout.group + byte / 2 * 2,
                    sizeof weight);
        sum += std::int64_t{bytes[call.starts[step] + byte] - layout.input_offset} * weight;
      }
    }
  }
  return sum;
}

std::int32_t gemm_sum(const GemmCall& call, const GemmLayout& layout, std::int64_t row,
                      std::int64_t channel) {
  const std::int64_t groups = ceil_div(call.row_bytes, layout.group);
  const std::int64_t panel_bytes = layout.panel * layout.group;
  const std::int8_t* weights =
      call.weights + channel / layout.panel * panel_bytes + channel % layout.panel * layout.group;
  std::int64_t sum = call.bias[channel];
  if (layout.pair_limit != 0) {
    return static_cast<std::int32_t>(sum + sum_of_steps(call, layout, row, channel));
  }
  std::int64_t step = 0;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* bytes = tap_row(call, tap, row);
    for (std::int64_t group = 0; group < groups; ++group, ++step) {
      const std::int64_t first = std::min(group * layout.group, call.row_bytes - layout.group);
      sum += group_sum(layout, bytes + first, weights + step * call.panels * panel_bytes);
    }
  }
  return static_cast<std::int32_t>(sum);
}

}  // namespace

void reference_gemm(const GemmCall& call, const GemmLayout& layout) {
  for (std::int64_t row = 0; row < call.row_count; ++row) {
    for (std::int64_t channel = 0; channel < call.channels; ++channel) {
      const std::int64_t at = row * call.output_stride + channel;
      const std::int32_t sum = gemm_sum(call, layout, row, channel);
      if (call.output_type == OutputType::kInt32) {
        static_cast<std::int32_t*>(call.output)[at] = sum;
        continue;
      }
      const float product = static_cast<float>(sum) * call.multiplier[channel];
      if (call.output_type == OutputType::kFloat32) {
        static_cast<float*>(call.output)[at] =
            product + (call.onto == nullptr ? call.addend[channel]
                                            : call.onto[row * call.onto_stride + channel]);
        continue;
      }
      float real = product;
      if (call.negative != nullptr && sum < 0) {
        real = static_cast<float>(sum) * call.negative[channel];
      }
      if (call.residual != nullptr) {
        const std::int32_t q = call.residual[row * call.residual_stride + channel];
        real += static_cast<float>(q - call.residual_zero) * call.residual_multiplier;
      }
      static_cast<std::uint8_t*>(call.output)[at] =
          call.curve != nullptr
              ? curve_byte(*call.curve, sum, call.multiplier[channel], call.factors[channel])
              : round_to_u8(real, call.zero_point, call.low, call.high);
    }
  }
}

}  // namespace qtool
