// Kernels of the family gemm equal their specification bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/round_up.h"
#include "isa/gemm_avx512vl.h"
#include "kernels/gemm/gemm.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"
#include "support/random_curve.h"

namespace qtool::tests {
namespace {

struct GemmOperands {
  GemmCall call;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> starts;
  std::vector<TapSteps> steps;
  std::vector<std::int32_t> bias;
  std::vector<float> multiplier;
  std::vector<float> addend;
};

// Weights in the order of `layout`. The last group may repeat bytes of the one before; its weights
// for them are zero.
std::vector<std::int8_t> draw_weights(std::mt19937& random, Spread spread, const GemmCall& call,
                                      const GemmLayout& layout) {
  const std::int64_t groups = ceil_div(call.row_bytes, layout.group);
  const std::int64_t columns = call.panels * layout.panel;
  std::vector<std::int8_t> weights(
      static_cast<std::size_t>(call.taps * groups * columns * layout.group));
  randomize(random, spread, weights.data(), weights.size());
  const std::int64_t repeated = groups * layout.group - call.row_bytes;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t at = ((tap * groups + groups - 1) * columns + column) * layout.group;
      std::fill_n(weights.begin() + at, repeated, std::int8_t{0});
    }
  }
  return weights;
}

// Makes the pairs of a narrow step keep the limit.
void limit_step(std::span<std::int8_t> weights, std::int32_t most) {
  for (std::size_t at = 0; at < weights.size(); at += 2) {
    std::int8_t* pair = &weights[at];
    const bool same_sign = (pair[0] < 0) == (pair[1] < 0);
    if (!same_sign || std::abs(pair[0] + pair[1]) <= most) continue;
    const std::int32_t limit = pair[0] < 0 ? -most : most;
    pair[1] = static_cast<std::int8_t>(limit - pair[0]);
  }
}

// Weights, and steps in any order, for a kernel with a pair_limit. Some pairs are at the limit.
void draw_steps(std::mt19937& random, Spread spread, const GemmLayout& layout,
                GemmOperands& drawn) {
  const GemmCall& call = drawn.call;
  const auto count = static_cast<std::size_t>(layout.panel * layout.group);
  const auto draw_step = [&](bool wide) {
    drawn.starts.push_back(
        static_cast<std::int32_t>(pick(random, 0, call.row_bytes - layout.group)));
    std::vector<std::int8_t> weights(wide ? 2 * count : count);
    randomize(random, spread, weights.data(), weights.size());
    if (!wide) limit_step(weights, layout.pair_limit);
    // A word keeps its lower byte, and the other becomes its sign.
    for (std::size_t at = 1; wide && at < weights.size(); at += 2) {
      weights[at] = weights[at - 1] < 0 ? std::int8_t{-1} : std::int8_t{0};
    }
    drawn.weights.insert(drawn.weights.end(), weights.begin(), weights.end());
  };
  const auto end = [&] { return static_cast<std::int32_t>(drawn.starts.size()); };
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    TapSteps steps;
    for (std::int32_t& narrow_end : steps.narrow_end) {
      for (std::int64_t left = pick(random, 0, 12); left > 0; --left) draw_step(false);
      narrow_end = end();
    }
    for (std::int64_t left = pick(random, 0, 20); left > 0; --left) draw_step(true);
    steps.wide_end = end();
    drawn.steps.push_back(steps);
  }
}

GemmOperands draw(std::mt19937& random, Spread spread, const GemmLayout& layout) {
  GemmOperands drawn;
  GemmCall& call = drawn.call;
  call.source = pick(random, 0, 1) == 0 ? RowSource::kPointers : RowSource::kStrided;
  call.row_count = pick(random, 1, 2 * layout.rows + 5);
  call.taps = call.source == RowSource::kStrided ? 1 : pick(random, 1, 4);
  call.row_bytes = pick(random, layout.group, 12 * layout.group);
  call.panels = pick(random, 1, layout.max_panels);
  call.channels = pick(random, (call.panels - 1) * layout.panel + 1, call.panels * layout.panel);
  if (layout.pair_limit == 0) {
    drawn.weights = draw_weights(random, spread, call, layout);
  } else {
    draw_steps(random, spread, layout, drawn);
  }
  const std::int64_t typical = 50 * call.taps * call.row_bytes;
  for (std::int64_t i = 0; i < call.panels * layout.panel; ++i) {
    drawn.bias.push_back(static_cast<std::int32_t>(pick(random, -100000, 100000)));
    drawn.multiplier.push_back(pick(random, 0, 20) == 0 ? 1e9F
                                                        : static_cast<float>(pick(random, 1, 500)) /
                                                              static_cast<float>(typical));
    drawn.addend.push_back(static_cast<float>(pick(random, -1000, 1000)) / 7.0F);
  }
  call.weights = drawn.weights.data();
  call.starts = drawn.starts.data();
  call.steps = drawn.steps.data();
  call.bias = drawn.bias.data();
  call.multiplier = drawn.multiplier.data();
  call.addend = drawn.addend.data();
  call.zero_point = static_cast<std::int32_t>(pick(random, 0, 255));
  call.low = static_cast<std::int32_t>(pick(random, 0, 100));
  call.high = static_cast<std::int32_t>(pick(random, call.low, 255));
  call.output_stride = call.channels + pick(random, 0, 3);
  return drawn;
}

// Runs the call with the kernel and with the reference, into memory that ends with the last result.
void compare(GemmCall call, const KernelRow<GemmFunctions>& row, std::size_t element) {
  const auto bytes =
      static_cast<std::size_t>((call.row_count - 1) * call.output_stride + call.channels) * element;
  std::vector<std::byte> expected(bytes, std::byte{0xAB});
  call.output = expected.data();
  reference_gemm(call, row.functions->layout);
  const GemmSize size{call.row_count, call.taps, call.row_bytes};
  const std::int64_t scratch_bytes =
      row.functions->scratch_bytes == nullptr ? 0 : row.functions->scratch_bytes(size);
  const GuardedBuffer scratch(static_cast<std::size_t>(align_up(scratch_bytes)));
  const GuardedBuffer output(bytes);
  output.fill(0xAB);
  call.scratch = scratch.data<std::byte>();
  call.output = output.data<void>();
  row.functions->run(call);
  ASSERT_EQ(std::memcmp(output.data(), expected.data(), bytes), 0)
      << row.name << ": " << call.row_count << " rows of " << call.taps << " x " << call.row_bytes
      << " bytes, " << call.channels << " channels, type " << static_cast<int>(call.output_type)
      << (call.curve == nullptr ? "" : ", on a curve");
}

void check_kernel(std::mt19937& random, Spread spread, const KernelRow<GemmFunctions>& row) {
  GemmOperands drawn = draw(random, spread, row.functions->layout);
  GemmCall& call = drawn.call;
  // Rows lie behind each other, in reverse order for the table, and end with their bytes.
  const std::int64_t rows = call.row_count * call.taps;
  const GuardedBuffer input(static_cast<std::size_t>(rows * call.row_bytes));
  randomize(random, spread, input.data(), input.bytes());
  std::vector<const std::uint8_t*> table;
  for (std::int64_t i = 0; i < rows; ++i) {
    table.push_back(input.data() + (rows - 1 - i) * call.row_bytes);
  }
  call.rows = table.data();
  call.row_pitch = call.row_count;
  call.base = input.data();
  call.row_stride = call.row_bytes;
  const auto outputs = static_cast<std::size_t>(call.row_count * call.channels);
  const GuardedBuffer residual(outputs);
  randomize(random, spread, residual.data(), outputs);
  const GuardedBuffer onto(outputs * sizeof(float));
  for (std::size_t i = 0; i < outputs; ++i) {
    onto.data<float>()[i] = static_cast<float>(pick(random, -30000, 30000)) / 7.0F;
  }

  call.output_type = OutputType::kInt32;
  ASSERT_NO_FATAL_FAILURE(compare(call, row, sizeof(std::int32_t)));
  call.output_type = OutputType::kUInt8;
  ASSERT_NO_FATAL_FAILURE(compare(call, row, 1));
  GemmCall adding = call;
  adding.residual = residual.data();
  adding.residual_stride = call.channels;
  adding.residual_multiplier = static_cast<float>(pick(random, 1, 3000)) / 1000.0F;
  adding.residual_zero = static_cast<std::int32_t>(pick(random, 0, 255));
  ASSERT_NO_FATAL_FAILURE(compare(adding, row, 1));
  // Other multipliers for sums below 0, alone and with the residual.
  std::vector<float> negative = drawn.multiplier;
  for (float& multiplier : negative) {
    multiplier *= static_cast<float>(pick(random, -300, 300)) / 200.0F;
  }
  for (GemmCall sloped : {call, adding}) {
    sloped.negative = negative.data();
    ASSERT_NO_FATAL_FAILURE(compare(sloped, row, 1));
  }
  // Most of the multipliers above give few positions of a curve.
  GemmCall on_curve = call;
  const Curve curve = draw_curve(random, spread);
  on_curve.curve = &curve;
  std::vector<float> multipliers = drawn.multiplier;
  const auto factor = static_cast<float>(pick(random, 1, 200));
  for (float& multiplier : multipliers) multiplier *= factor;
  on_curve.multiplier = multipliers.data();
  const std::vector<CurveFactor> factors =
      draw_factors(random, static_cast<std::int64_t>(multipliers.size()));
  on_curve.factors = factors.data();
  ASSERT_NO_FATAL_FAILURE(compare(on_curve, row, 1));
  // Numbers at the limits of int32, and infinite ones. No sum exceeds int32.
  constexpr float kAtLimits[] = {0.98F, 0.99F, 1.01F, -1.01F, 3e38F};
  const float at_limit = kAtLimits[pick(random, 0, 4)];
  std::ranges::fill(multipliers, at_limit);
  std::vector<std::int32_t> biases = drawn.bias;
  for (std::int32_t& bias : biases) {
    const auto magnitude = static_cast<std::int32_t>(2147483647 - pick(random, 1 << 24, 1 << 26));
    bias = pick(random, 0, 1) == 0 ? magnitude : -magnitude;
  }
  on_curve.bias = biases.data();
  ASSERT_NO_FATAL_FAILURE(compare(on_curve, row, 1));
  call.output_type = OutputType::kFloat32;
  ASSERT_NO_FATAL_FAILURE(compare(call, row, sizeof(float)));
  call.onto = onto.data<float>();
  call.onto_stride = call.channels;
  ASSERT_NO_FATAL_FAILURE(compare(call, row, sizeof(float)));
}

#if defined(__x86_64__)
// The source of the kernel for AVX-VNNI, with another form of its instruction.
TEST(GemmKernels, OfAvx512VlEqualTheReference) {
  if (!detect_cpu().holds(isa::avx512vnni.needs)) {
    GTEST_SKIP() << "the processor has no AVX-512 VNNI";
  }
  std::mt19937 random = seeded_generator();
  const KernelRow<GemmFunctions> row{"avx512vl", {}, &gemm_avx512vl};
  for (int i = 0; i < 300; ++i) {
    const Spread spread = i % 3 == 0 ? Spread::kExtremes : Spread::kUniform;
    ASSERT_NO_FATAL_FAILURE(check_kernel(random, spread, row));
  }
}
#endif

TEST(GemmKernels, EqualTheReference) {
  std::mt19937 random = seeded_generator();
  for (const KernelRow<GemmFunctions>& row : runnable(gemm_kernels())) {
    for (int i = 0; i < 300; ++i) {
      const Spread spread = i % 3 == 0 ? Spread::kExtremes : Spread::kUniform;
      ASSERT_NO_FATAL_FAILURE(check_kernel(random, spread, row));
    }
  }
}

}  // namespace
}  // namespace qtool::tests
