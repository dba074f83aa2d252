#include <algorithm>
#include <cstdint>

#include "base/round_up.h"
#include "kernels/curve_byte.h"
#include "kernels/gemm/contract.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

constexpr GemmLayout kLayout;
constexpr std::int64_t kPanel = kLayout.panel;
constexpr std::int64_t kGroup = kLayout.group;

struct Accumulators {
  std::int32_t value[kPanel];
};

void multiply(const GemmCall& call, std::int64_t row, std::int64_t panel, Accumulators& acc) {
  const std::int64_t groups = ceil_div(call.row_bytes, kGroup);
  const std::int64_t step = call.panels * kPanel * kGroup;
  const std::int8_t* weights = call.weights + panel * kPanel * kGroup;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* input = call.source == RowSource::kStrided
                                    ? call.base + row * call.row_stride
                                    : call.rows[tap * call.row_pitch + row] + call.row_offset;
    for (std::int64_t group = 0; group < groups; ++group, weights += step) {
      const std::uint8_t* bytes = input + std::min(group * kGroup, call.row_bytes - kGroup);
      for (std::int64_t c = 0; c < kPanel; ++c) {
        std::int32_t dot = 0;
        for (std::int64_t b = 0; b < kGroup; ++b) {
          dot += std::int32_t{bytes[b]} * weights[c * kGroup + b];
        }
        acc.value[c] += dot;
      }
    }
  }
}

void store_panel(const GemmCall& call, std::int64_t row, std::int64_t panel,
                 const Accumulators& acc) {
  const std::int64_t first = panel * kPanel;
  const std::int64_t count = std::min(kPanel, call.channels - first);
  const std::int64_t at = row * call.output_stride + first;
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int32_t sum = acc.value[c] + call.bias[first + c];
    if (call.output_type == OutputType::kInt32) {
      static_cast<std::int32_t*>(call.output)[at + c] = sum;
      continue;
    }
    const float product = static_cast<float>(sum) * call.multiplier[first + c];
    if (call.output_type == OutputType::kFloat32) {
      static_cast<float*>(call.output)[at + c] =
          product + (call.onto == nullptr ? call.addend[first + c]
                                          : call.onto[row * call.onto_stride + first + c]);
      continue;
    }
    float real = product;
    if (call.negative != nullptr && sum < 0) {
      real = static_cast<float>(sum) * call.negative[first + c];
    }
    if (call.residual != nullptr) {
      const std::int32_t q = call.residual[row * call.residual_stride + first + c];
      real += static_cast<float>(q - call.residual_zero) * call.residual_multiplier;
    }
    static_cast<std::uint8_t*>(call.output)[at + c] =
        call.curve != nullptr
            ? curve_byte(*call.curve, sum, call.multiplier[first + c], call.factors[first + c])
            : round_to_u8(real, call.zero_point, call.low, call.high);
  }
}

void run_gemm(const GemmCall& call) {
  for (std::int64_t row = 0; row < call.row_count; ++row) {
    for (std::int64_t panel = 0; panel < call.panels; ++panel) {
      Accumulators acc{};
      multiply(call, row, panel, acc);
      store_panel(call, row, panel, acc);
    }
  }
}

}  // namespace

constexpr GemmFunctions gemm_portable = {run_gemm, kLayout};

}  // namespace qtool
