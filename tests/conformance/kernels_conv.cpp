// PackedConv equals its specification bit for bit, for every kernel this machine can run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/reference.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/gemm/gemm.h"
#include "qtool/base/error.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"
#include "support/random_curve.h"

namespace qtool::tests {
namespace {

struct Case {
  ConvWeights weights;
  ConvShape shape;
  Epilogue epilogue;
  std::vector<std::int8_t> values;
  std::vector<std::int32_t> bias;
  std::vector<std::int32_t> weight_zero_points;
  std::vector<float> float_bias;
  bool large_multipliers = true;  // draws some that exceed every integer range
};

std::string describe(const Case& c) {
  const ConvWeights& w = c.weights;
  const ConvShape& s = c.shape;
  return to_text("in ", w.in_channels, " out ", w.out_channels, " kernel ", w.kernel_h, "x",
                 w.kernel_w, " groups ", w.groups, " image ", s.batch, "x", s.in_h, "x", s.in_w,
                 " to ", s.out_h, "x", s.out_w, " stride ", s.stride_h, "x", s.stride_w,
                 " dilation ", s.dilation_h, "x", s.dilation_w, " pad ", s.pad_top, ",", s.pad_left,
                 " zx ", w.input_zero_point, " strides ", s.in_pixel_stride, " ",
                 s.out_pixel_stride, " wzp ", w.weight_zero_points.size());
}

// Draws everything that the geometry leaves open: values, bias, zero points and the epilogue. The
// multipliers spread the sums over the output range.
void complete(std::mt19937& random, Spread spread, Case& c) {
  ConvWeights& w = c.weights;
  const std::int64_t depth = w.in_channels / w.groups * w.kernel_h * w.kernel_w;
  c.values.resize(static_cast<std::size_t>(w.out_channels * depth));
  randomize(random, spread, c.values.data(), c.values.size());
  w.values = c.values;
  const auto outputs = static_cast<std::size_t>(w.out_channels);
  if (pick(random, 0, 2) > 0) {
    for (std::size_t i = 0; i < outputs; ++i) {
      c.bias.push_back(static_cast<std::int32_t>(pick(random, -100000, 100000)));
    }
    w.bias = c.bias;
  }
  // With a zero point, weights reach 255 in absolute value, so only half the depth is allowed.
  if (depth < 32000 && pick(random, 0, 4) == 0) {
    for (std::size_t i = 0; i < outputs; ++i) {
      c.weight_zero_points.push_back(static_cast<std::int32_t>(pick(random, -128, 127)));
    }
    w.weight_zero_points = c.weight_zero_points;
  }
  w.input_zero_point =
      static_cast<std::int32_t>(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, 255));
  const float typical =
      1.0F / (70.0F * std::sqrt(static_cast<float>(depth)) * (spread == Spread::kExtremes ? 3 : 1));
  for (std::size_t i = 0; i < outputs; ++i) {
    const auto factor = static_cast<float>(pick(random, 1, 1000)) / 500.0F;
    // Sometimes a multiplier that exceeds every integer range.
    const bool large = c.large_multipliers && pick(random, 0, 40) == 0;
    c.epilogue.multiplier.push_back(large ? 1e9F : typical * factor);
    c.float_bias.push_back(static_cast<float>(pick(random, -1000, 1000)) / 7.0F);
  }
  c.epilogue.zero_point = static_cast<std::int32_t>(pick(random, 0, 255));
  if (pick(random, 0, 1) == 0) {
    c.epilogue.low = static_cast<std::int32_t>(pick(random, 0, 255));
    c.epilogue.high = static_cast<std::int32_t>(pick(random, c.epilogue.low, 255));
  }
}

template <typename T>
void check_output(const Case& c, const PackedConv& conv, const std::vector<T>& expected,
                  const std::uint8_t* input, const std::string& name, const ConvAdded& added = {}) {
  const std::size_t bytes = expected.size() * sizeof(T);
  for (const int threads : {1, 2, 3}) {
    const GuardedBuffer output(bytes);
    output.fill(0xAB);
    const GuardedBuffer workspace(static_cast<std::size_t>(conv.workspace_bytes(c.shape, threads)));
    conv.run(c.shape, input, output.data<void>(), workspace.data<std::byte>(), threads, added);
    ASSERT_EQ(std::memcmp(output.data(), expected.data(), bytes), 0)
        << name << ", " << threads << " threads: " << describe(c);
  }
}

void check(std::mt19937& random, Spread spread, Case c) {
  complete(random, spread, c);
  const ConvWeights& w = c.weights;
  ConvShape& s = c.shape;
  const auto in_stride = s.in_pixel_stride == 0 ? w.in_channels : s.in_pixel_stride;
  const auto out_stride = s.out_pixel_stride == 0 ? w.out_channels : s.out_pixel_stride;
  // The last pixel ends with its channels, not with its stride.
  const auto in_bytes =
      static_cast<std::size_t>(s.batch * s.in_h * s.in_w * in_stride - (in_stride - w.in_channels));
  const auto outputs = static_cast<std::size_t>(s.batch * s.out_h * s.out_w * out_stride -
                                                (out_stride - w.out_channels));
  const auto side =
      pick(random, 0, 1) == 0 ? GuardedBuffer::Side::kEnd : GuardedBuffer::Side::kBegin;
  const GuardedBuffer input(in_bytes, side);
  randomize(random, spread, input.data(), in_bytes);
  std::vector<std::uint8_t> bytes(outputs, 0xAB);
  reference_conv(w, c.epilogue, s, input.data(), bytes.data());
  // The same layer with a residual, whose scale is sometimes far from the scale of the result.
  Epilogue adding = c.epilogue;
  adding.residual = {
      pick(random, 0, 9) == 0 ? 1e9F : static_cast<float>(pick(random, 1, 3000)) / 1000.0F,
      static_cast<std::int32_t>(pick(random, 0, 255))};
  const auto added_bytes = static_cast<std::size_t>(s.batch * s.out_h * s.out_w * w.out_channels);
  const GuardedBuffer residual(added_bytes, side);
  randomize(random, spread, residual.data(), added_bytes);
  std::vector<std::uint8_t> sums_of_two(outputs, 0xAB);
  reference_conv(w, adding, s, input.data(), sums_of_two.data(), residual.data());
  // The same layer with other multipliers for sums below 0, sometimes with the residual.
  Epilogue sloped = pick(random, 0, 1) == 0 ? c.epilogue : adding;
  for (const float multiplier : sloped.multiplier) {
    sloped.negative.push_back(multiplier * static_cast<float>(pick(random, -300, 300)) / 200.0F);
  }
  const std::uint8_t* const beside = sloped.residual ? residual.data() : nullptr;
  std::vector<std::uint8_t> sloped_bytes(outputs, 0xAB);
  reference_conv(w, sloped, s, input.data(), sloped_bytes.data(), beside);
  // The same layer with a curve, of which most sums reach more than a segment.
  Epilogue on_curve = c.epilogue;
  on_curve.curve = draw_curve(random, spread);
  const auto factor = static_cast<float>(pick(random, 1, 200));
  for (float& multiplier : on_curve.multiplier) multiplier *= factor;
  if (pick(random, 0, 1) == 0) on_curve.factors = draw_factors(random, w.out_channels);
  std::vector<std::uint8_t> curve_bytes(outputs, 0xAB);
  reference_conv(w, on_curve, s, input.data(), curve_bytes.data());
  std::vector<float> floats(outputs);
  std::memset(floats.data(), 0xAB, outputs * sizeof(float));
  const bool biased = pick(random, 0, 1) == 0;
  const std::vector<float> float_bias = biased ? c.float_bias : std::vector<float>();
  reference_conv(w, c.epilogue.multiplier, float_bias, s, input.data(), floats.data());
  // The same layer, added to the result of another layer.
  const GuardedBuffer base(added_bytes * sizeof(float), side);
  for (std::size_t i = 0; i < added_bytes; ++i) {
    base.data<float>()[i] = static_cast<float>(pick(random, -30000, 30000)) / 7.0F;
  }
  std::vector<float> on_base(outputs);
  std::memset(on_base.data(), 0xAB, outputs * sizeof(float));
  reference_conv(w, c.epilogue.multiplier, {}, s, input.data(), on_base.data(), base.data<float>());
  std::vector<std::int32_t> sums(outputs);
  std::memset(sums.data(), 0xAB, outputs * sizeof(std::int32_t));
  reference_conv(w, s, input.data(), sums.data());
  // An input zero point that is known only at run time is passed as the padding value.
  Case late = c;
  late.weights.input_zero_point = 0;
  late.shape.padding = static_cast<std::uint8_t>(pick(random, 0, 255));
  std::vector<std::int32_t> late_sums(outputs);
  std::memset(late_sums.data(), 0xAB, outputs * sizeof(std::int32_t));
  const bool try_late = pick(random, 0, 2) == 0;
  if (try_late) reference_conv(late.weights, late.shape, input.data(), late_sums.data());
  for (const std::string& name : forcible_names()) {
    const KernelSelection selection{detect_cpu(), name};
    ASSERT_NO_FATAL_FAILURE(
        check_output(c, PackedConv::of_sums(w, selection), sums, input.data(), name));
    if (try_late) {
      ASSERT_NO_FATAL_FAILURE(check_output(late, PackedConv::of_sums(late.weights, selection),
                                           late_sums, input.data(), name));
    }
    const PackedConv to_bytes(w, c.epilogue, selection);
    // An instruction set may have a kernel in one of the two families only; a slower one then runs.
    const bool depthwise = w.groups > 1 && w.groups == w.in_channels && w.groups == w.out_channels;
    const std::string_view chosen = depthwise ? select_kernel(depthwise_kernels(), selection).name
                                              : select_kernel(gemm_kernels(), selection).name;
    ASSERT_EQ(to_bytes.kernel(), chosen);
    ASSERT_NO_FATAL_FAILURE(check_output(c, to_bytes, bytes, input.data(), name));
    ASSERT_NO_FATAL_FAILURE(check_output(c, PackedConv(w, adding, selection), sums_of_two,
                                         input.data(), name, {.residual = residual.data()}));
    ASSERT_NO_FATAL_FAILURE(
        check_output(c, PackedConv(w, on_curve, selection), curve_bytes, input.data(), name));
    ASSERT_NO_FATAL_FAILURE(check_output(c, PackedConv(w, sloped, selection), sloped_bytes,
                                         input.data(), name, {.residual = beside}));
    const PackedConv to_floats(w, c.epilogue.multiplier, float_bias, selection);
    ASSERT_NO_FATAL_FAILURE(check_output(c, to_floats, floats, input.data(), name));
    const PackedConv onto(w, c.epilogue.multiplier, {}, selection);
    ASSERT_NO_FATAL_FAILURE(
        check_output(c, onto, on_base, input.data(), name, {.base = base.data<float>()}));
  }
}

void set_image(ConvShape& s, const ConvWeights& w, std::int64_t height, std::int64_t width) {
  s.in_h = height;
  s.in_w = width;
  s.out_h = std::max<std::int64_t>(
      1, (height + 2 * s.pad_top - (w.kernel_h - 1) * s.dilation_h - 1) / s.stride_h + 1);
  s.out_w = std::max<std::int64_t>(
      1, (width + 2 * s.pad_left - (w.kernel_w - 1) * s.dilation_w - 1) / s.stride_w + 1);
}

Case random_case(std::mt19937& random) {
  constexpr std::int64_t kKernels[] = {1, 1, 2, 3, 3, 5, 7};
  constexpr std::int64_t kChannels[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 24, 31, 33, 64, 70};
  Case c;
  ConvWeights& w = c.weights;
  ConvShape& s = c.shape;
  w.kernel_h = kKernels[pick(random, 0, 6)];
  w.kernel_w = pick(random, 0, 3) == 0 ? kKernels[pick(random, 0, 6)] : w.kernel_h;
  switch (pick(random, 0, 3)) {
    case 0:  // depthwise
      w.groups = w.in_channels = w.out_channels = pick(random, 2, 150);
      break;
    case 1:  // grouped
      w.groups = pick(random, 2, 5);
      w.in_channels = w.groups * pick(random, 1, 9);
      w.out_channels = w.groups * pick(random, 1, 20);
      break;
    default:
      w.in_channels = kChannels[pick(random, 0, 13)];
      w.out_channels =
          pick(random, 0, 1) == 0 ? pick(random, 1, 100) : kChannels[pick(random, 0, 13)];
  }
  s.batch = pick(random, 1, 2);
  s.stride_h = pick(random, 1, 2);
  s.stride_w = pick(random, 0, 4) == 0 ? pick(random, 1, 3) : s.stride_h;
  s.dilation_h = pick(random, 0, 3) == 0 ? 2 : 1;
  s.dilation_w = pick(random, 0, 4) == 0 ? pick(random, 1, 3) : s.dilation_h;
  s.pad_top = pick(random, 0, w.kernel_h);
  s.pad_left = pick(random, 0, 1) == 0 ? s.pad_top : pick(random, 0, w.kernel_w + 1);
  if (pick(random, 0, 3) == 0) s.pad_top = s.pad_left = 0;
  set_image(s, w, pick(random, 1, 12), pick(random, 1, 20));
  // The caller chooses the output extent, so there may be padding after the end, or cropping.
  if (pick(random, 0, 3) == 0) s.out_h += pick(random, 0, 2);
  if (pick(random, 0, 3) == 0) s.out_w += pick(random, 0, 2);
  if (pick(random, 0, 2) == 0) s.in_pixel_stride = w.in_channels + pick(random, 0, 40);
  if (pick(random, 0, 2) == 0) s.out_pixel_stride = w.out_channels + pick(random, 0, 40);
  return c;
}

TEST(PackedConv, EqualsReferenceOnRandomShapes) {
  std::mt19937 random = seeded_generator();
  for (int i = 0; i < 400; ++i) {
    const Spread spread = i % 3 == 0 ? Spread::kExtremes : Spread::kUniform;
    ASSERT_NO_FATAL_FAILURE(check(random, spread, random_case(random)));
  }
}

TEST(PackedConv, EqualsReferenceForEveryChannelCount) {
  std::mt19937 random = seeded_generator();
  for (std::int64_t channels = 1; channels <= 70; ++channels) {
    for (const bool depthwise : {false, true}) {
      if (depthwise && channels == 1) continue;
      Case c;
      c.weights.kernel_h = c.weights.kernel_w = channels % 2 == 0 ? 3 : 1;
      c.weights.in_channels = channels;
      c.weights.out_channels = depthwise ? channels : 71 - channels;
      c.weights.groups = depthwise ? channels : 1;
      c.shape.pad_top = c.shape.pad_left = channels % 2 == 0 ? 1 : 0;
      set_image(c.shape, c.weights, 5, 7);
      ASSERT_NO_FATAL_FAILURE(check(random, Spread::kExtremes, c));
    }
  }
}

TEST(PackedConv, EqualsReferenceOnDepthwiseNetworkShapes) {
  std::mt19937 random = seeded_generator();
  for (const std::int64_t channels : {16, 24, 32, 48, 64, 96, 144}) {
    for (const std::int64_t kernel : {3, 5, 7}) {
      for (const std::int64_t stride : {1, 2}) {
        for (const std::int64_t width : {1, 2, 7, 14, 15}) {
          Case c;
          c.weights.kernel_h = c.weights.kernel_w = kernel;
          c.weights.groups = c.weights.in_channels = c.weights.out_channels = channels;
          c.shape.stride_h = c.shape.stride_w = stride;
          c.shape.pad_top = c.shape.pad_left = kernel / 2;
          set_image(c.shape, c.weights, width % 5 + 3, width);
          ASSERT_NO_FATAL_FAILURE(check(random, Spread::kExtremes, c));
        }
      }
    }
  }
}

// Kernels compute several rows at a time, and the last ones may be fewer.
TEST(PackedConv, EqualsReferenceOnDepthwiseRows) {
  std::mt19937 random = seeded_generator();
  for (const std::int64_t channels : {3, 16, 17, 32, 33, 64, 70}) {
    for (const std::int64_t stride : {1, 2}) {
      for (std::int64_t height = 1; height <= 19; height += 2) {
        Case c;
        c.weights.kernel_h = c.weights.kernel_w = 3;
        c.weights.groups = c.weights.in_channels = c.weights.out_channels = channels;
        c.shape.batch = 2;
        c.shape.stride_h = c.shape.stride_w = stride;
        c.shape.pad_top = c.shape.pad_left = 1;
        c.large_multipliers = height % 3 == 0;
        set_image(c.shape, c.weights, height, 5 + height % 4);
        ASSERT_NO_FATAL_FAILURE(check(random, Spread::kExtremes, c));
      }
    }
  }
}

TEST(PackedConv, EqualsReferenceAtTheDeepestSum) {
  std::mt19937 random = seeded_generator();
  Case c;
  c.weights.in_channels = 65000;
  c.weights.out_channels = 3;
  ASSERT_NO_FATAL_FAILURE(check(random, Spread::kExtremes, c));
  c.shape.in_h = c.shape.out_h = 9;
  c.weights.in_channels = 2048;
  c.weights.out_channels = 100;
  ASSERT_NO_FATAL_FAILURE(check(random, Spread::kExtremes, c));
}

// Known answers: the inputs 10 and 20 with the weights 1 and 2 give 50, and half of that is 25. The
// residual adds (140 - 120) * 0.25 = 5, which gives 30, and the zero point 7 makes it 37.
TEST(PackedConv, AddsAResidualBeforeItRounds) {
  const std::vector<std::int8_t> values = {1, 2};
  ConvWeights weights;
  weights.values = values;
  weights.in_channels = 2;
  const std::uint8_t input[] = {10, 20};
  const auto result = [&](const Epilogue& epilogue, std::uint8_t residual) {
    const PackedConv conv(weights, epilogue);
    std::vector<std::byte> workspace(static_cast<std::size_t>(conv.workspace_bytes({}, 1)));
    std::uint8_t out = 0;
    conv.run({}, input, &out, workspace.data(), 1, {.residual = &residual});
    return int{out};
  };
  EXPECT_EQ(result({{0.5F}, 7, 0, 255, Residual{0.25F, 120}}, 140), 37);
  // 50 * 0.01 + 1 * 0.25 = 0.75 is rounded to 1. Rounded separately, 0.5 and 0.25 would both become
  // 0.
  EXPECT_EQ(result({{0.01F}, 0, 0, 255, Residual{0.25F, 0}}, 1), 1);
  EXPECT_EQ(result({{0.5F}, 7, 0, 33, Residual{0.25F, 120}}, 140), 33);
}

TEST(PackedConv, RefusesAResidualThatItsEpilogueDoesNotFit) {
  const std::vector<std::int8_t> values(4, 1);
  ConvWeights weights;
  weights.values = values;
  weights.in_channels = 4;
  const std::uint8_t input[4] = {};
  std::uint8_t out = 0;
  const PackedConv plain(weights, Epilogue{{1.0F}, 0, 0, 255});
  const PackedConv adding(weights, Epilogue{{1.0F}, 0, 0, 255, Residual{1.0F, 0}});
  std::vector<std::byte> workspace(static_cast<std::size_t>(adding.workspace_bytes({}, 1)));
  EXPECT_THROW(plain.run({}, input, &out, workspace.data(), 1, {.residual = input}), Error);
  const float base = 1.0F;
  EXPECT_THROW(plain.run({}, input, &out, workspace.data(), 1, {.base = &base}), Error);
  EXPECT_THROW(adding.run({}, input, &out, workspace.data(), 1), Error);
  for (const Residual& wrong : {Residual{NAN, 0}, Residual{-1.0F, 0}, Residual{2e30F, 0},
                                Residual{1.0F, 256}, Residual{1.0F, -1}}) {
    EXPECT_THROW(PackedConv(weights, Epilogue{{1.0F}, 0, 0, 255, wrong}), Error);
  }
}

TEST(PackedConv, ComputesAnEmptyBatch) {
  const std::vector<std::int8_t> values(4, 1);
  ConvWeights weights;
  weights.values = values;
  weights.in_channels = 4;
  const PackedConv conv(weights, Epilogue{{1.0F}, 0, 0, 255});
  ConvShape shape;
  shape.batch = 0;
  EXPECT_NO_THROW(conv.run(shape, nullptr, nullptr, nullptr, 2));
}

TEST(PackedConv, RefusesSumsThatLeaveInt32) {
  const std::vector<std::int8_t> values(65794, -128);
  ConvWeights weights;
  weights.values = values;
  weights.in_channels = 65794;
  EXPECT_THROW(PackedConv(weights, Epilogue{{1.0F}, 0, 0, 255}), Error);
  const std::vector<std::int32_t> bias = {2147483647};
  weights.values = std::span(values).first(4);
  weights.in_channels = 4;
  weights.bias = bias;
  EXPECT_THROW(PackedConv(weights, Epilogue{{1.0F}, 0, 0, 255}), Error);
}

TEST(PackedConv, RefusesWhatDoesNotFitTogether) {
  const std::vector<std::int8_t> values(12, 1);
  ConvWeights good;
  good.values = values;
  good.out_channels = 3;
  good.in_channels = 4;
  const Epilogue epilogue{{1.0F, 1.0F, 1.0F}, 0, 0, 255};
  EXPECT_NO_THROW(PackedConv(good, epilogue));
  ConvWeights bad = good;
  bad.in_channels = 5;
  EXPECT_THROW(PackedConv(bad, epilogue), Error);
  bad = good;
  bad.kernel_h = std::int64_t{1} << 62;
  EXPECT_THROW(PackedConv(bad, epilogue), Error);
  bad = good;
  bad.groups = 2;
  EXPECT_THROW(PackedConv(bad, epilogue), Error);
  bad = good;
  bad.input_zero_point = 256;
  EXPECT_THROW(PackedConv(bad, epilogue), Error);
  EXPECT_THROW(PackedConv(good, Epilogue{{1.0F}, 0, 0, 255}), Error);
  EXPECT_THROW(PackedConv(good, Epilogue{{1.0F, 1.0F, NAN}, 0, 0, 255}), Error);
  EXPECT_THROW(PackedConv(good, Epilogue{{1.0F, 1.0F, 1.0F}, 0, 9, 8}), Error);
  EXPECT_THROW(PackedConv(good, std::vector<float>(3, 1.0F), std::vector<float>(2)), Error);
}

}  // namespace
}  // namespace qtool::tests
