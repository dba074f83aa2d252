#include <algorithm>
#include <cstdint>

#include "base/round_up.h"
#include "kernels/gemm/contract.h"
#include "kernels/requantize.h"

namespace qtool {
namespace {

struct Accumulators {
  std::int32_t value[kGemmPanel];
};

void multiply(const GemmCall& call, std::int64_t row, std::int64_t panel, Accumulators& acc) {
  const std::int64_t groups = ceil_div(call.row_bytes, kGemmGroup);
  const std::int64_t step = call.panels * kGemmPanel * kGemmGroup;
  const std::int8_t* weights = call.weights + panel * kGemmPanel * kGemmGroup;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::uint8_t* input = call.source == RowSource::kStrided
                                    ? call.base + row * call.row_stride
                                    : call.rows[tap * call.row_pitch + row] + call.row_offset;
    for (std::int64_t group = 0; group < groups; ++group, weights += step) {
      const std::uint8_t* bytes = input + std::min(group * kGemmGroup, call.row_bytes - kGemmGroup);
      for (std::int64_t c = 0; c < kGemmPanel; ++c) {
        std::int32_t dot = 0;
        for (std::int64_t b = 0; b < kGemmGroup; ++b) {
          dot += std::int32_t{bytes[b]} * weights[c * kGemmGroup + b];
        }
        acc.value[c] += dot;
      }
    }
  }
}

void store_panel(const GemmCall& call, std::int64_t row, std::int64_t panel,
                 const Accumulators& acc) {
  const std::int64_t first = panel * kGemmPanel;
  const std::int64_t count = std::min(kGemmPanel, call.channels - first);
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
    if (call.residual != nullptr) {
      const std::int32_t q = call.residual[row * call.residual_stride + first + c];
      real += static_cast<float>(q - call.residual_zero) * call.residual_multiplier;
    }
    static_cast<std::uint8_t*>(call.output)[at + c] =
        requantize(real, call.zero_point, call.low, call.high);
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

constexpr GemmFunctions gemm_portable = {run_gemm};

}  // namespace qtool
