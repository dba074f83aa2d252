// Compares every kernel of the element-wise and pooling lists with its reference, bit for bit, on
// buffers that end at guarded pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/add/add.h"
#include "kernels/div/div.h"
#include "kernels/lookup/lookup.h"
#include "kernels/mul/mul.h"
#include "kernels/pool/pool.h"
#include "kernels/quantize/quantize.h"
#include "kernels/square/square.h"
#include "kernels/wide_curve/wide_curve.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"

namespace qtool {
namespace {

using tests::GuardedBuffer;
using tests::only;
using tests::pick;
using tests::Spread;

constexpr int kElementwiseRounds = 300;

std::int32_t byte(std::mt19937& random) { return static_cast<std::int32_t>(pick(random, 0, 255)); }

float scale(std::mt19937& random) {
  return std::ldexp(static_cast<float>(pick(random, 1, 1000)),
                    static_cast<int>(pick(random, -16, -4)));
}

void set_clamp(std::mt19937& random, std::int32_t& low, std::int32_t& high) {
  const std::int32_t a = byte(random);
  const std::int32_t b = byte(random);
  low = pick(random, 0, 1) == 0 ? 0 : std::min(a, b);
  high = pick(random, 0, 1) == 0 ? 255 : std::max({a, b, low});
}

// Random bytes for one case, which end at a guarded page.
class RandomBytes : public GuardedBuffer {
 public:
  RandomBytes(std::mt19937& random, std::int64_t count)
      : GuardedBuffer(static_cast<std::size_t>(count)) {
    tests::randomize(random, pick(random, 0, 2) == 0 ? Spread::kExtremes : Spread::kUniform, data(),
                     bytes());
  }
};

void expect_equal(const GuardedBuffer& got, const GuardedBuffer& want, const std::string& what) {
  ASSERT_EQ(got.bytes(), want.bytes());
  ASSERT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
}

TEST(AddKernel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(add_kernels())) {
    const AddKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kElementwiseRounds; ++round) {
      const std::int64_t count = pick(random, 0, 300);
      const float sign = pick(random, 0, 1) == 0 ? 1.0F : -1.0F;  // negative: a difference
      AddParams params{scale(random), sign * scale(random), byte(random), byte(random),
                       byte(random)};
      set_clamp(random, params.low, params.high);
      const RandomBytes a(random, count);
      const RandomBytes b(random, count);
      const GuardedBuffer got(static_cast<std::size_t>(count));
      const GuardedBuffer want(static_cast<std::size_t>(count));
      kernel.run(params, a.data(), b.data(), got.data(), count);
      reference_add(params, a.data(), b.data(), want.data(), count);
      expect_equal(got, want, std::string(row.name));
    }
  }
}

TEST(MulKernel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(mul_kernels())) {
    const MulKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kElementwiseRounds; ++round) {
      const std::int64_t count = pick(random, 0, 300);
      MulParams params{scale(random) / 64.0F, byte(random), byte(random), byte(random)};
      set_clamp(random, params.low, params.high);
      const RandomBytes a(random, count);
      const RandomBytes b(random, count);
      const GuardedBuffer got(static_cast<std::size_t>(count));
      const GuardedBuffer want(static_cast<std::size_t>(count));
      kernel.run(params, a.data(), b.data(), got.data(), count);
      reference_mul(params, a.data(), b.data(), want.data(), count);
      expect_equal(got, want, std::string(row.name));
    }
  }
}

// Uses scales of any size. Quotients and squares beyond the range of float saturate in the kernel
// as in the reference.
template <typename Kernel, typename Rows, typename Reference>
void expect_real_pairs_equal(const Rows& rows, const Reference& reference) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(rows)) {
    const Kernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kElementwiseRounds; ++round) {
      const std::int64_t count = pick(random, 0, 300);
      const float extreme = pick(random, 0, 9) == 0 ? 1e36F : 1.0F;
      RealPairParams params{scale(random) * extreme,
                            scale(random),
                            scale(random),
                            byte(random),
                            byte(random),
                            byte(random)};
      set_clamp(random, params.low, params.high);
      const RandomBytes a(random, count);
      const RandomBytes b(random, count);
      const GuardedBuffer got(static_cast<std::size_t>(count));
      const GuardedBuffer want(static_cast<std::size_t>(count));
      kernel.run(params, a.data(), b.data(), got.data(), count);
      reference(params, a.data(), b.data(), want.data(), count);
      expect_equal(got, want, std::string(row.name));
    }
  }
}

// Coefficients and numbers of any size, among them infinite ones and NaN.
TEST(WideCurveKernel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  const auto real = [&random](float size) {
    return size * static_cast<float>(pick(random, -1000, 1000)) / 1000.0F;
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kStrange[] = {kInfinity, -kInfinity, std::nanf(""), 1e38F, -1e38F, 0.0F, 1e-40F};
  for (const auto& row : tests::runnable(wide_curve_kernels())) {
    const WideCurveKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kElementwiseRounds; ++round) {
      WideCurve curve;
      curve.scale = real(4.0F) + 4.001F;
      curve.offset = real(40.0F);
      if (pick(random, 0, 1) == 0) curve.last = WideCurve::kLastOnLine;
      curve.start = 127.5F + 254.0F * static_cast<float>(byte(random));
      const float size = pick(random, 0, 9) == 0 ? 1e30F : 60000.0F;
      for (auto& of_power : curve.coefficients) {
        for (float& c : of_power) c = real(size);
      }
      const std::int64_t pixels = pick(random, 0, 9);
      const std::int64_t channels = pick(random, 1, 70);
      const auto count = static_cast<std::size_t>(pixels * channels);
      const GuardedBuffer in(count * sizeof(float));
      const GuardedBuffer factors(static_cast<std::size_t>(channels) * sizeof(float));
      for (std::size_t i = 0; i < count; ++i) {
        in.data<float>()[i] = pick(random, 0, 20) == 0 ? kStrange[pick(random, 0, 6)] : real(20.0F);
      }
      for (std::int64_t c = 0; c < channels; ++c) factors.data<float>()[c] = real(2.0F);
      const GuardedBuffer got(count);
      const GuardedBuffer want(count);
      const GuardedBuffer got_low(count);
      const GuardedBuffer want_low(count);
      const bool both = pick(random, 0, 3) > 0;
      const float* by_channel = pick(random, 0, 1) == 0 ? factors.data<float>() : nullptr;
      kernel.run(curve, {in.data<float>(), by_channel, got.data(), both ? got_low.data() : nullptr,
                         pixels, channels});
      reference_wide_curve(curve, {in.data<float>(), by_channel, want.data(),
                                   both ? want_low.data() : nullptr, pixels, channels});
      expect_equal(got, want, std::string(row.name) + " high");
      if (both) expect_equal(got_low, want_low, std::string(row.name) + " low");
    }
  }
}

TEST(DivKernel, EqualsTheReference) {
  expect_real_pairs_equal<DivKernel>(div_kernels(), reference_div);
}

TEST(DivKernel, TakesZeroByZeroForZero) {
  const RealPairParams params{.sa = 1.0F, .sb = 1.0F, .sy = 1.0F, .za = 7, .zb = 9, .zy = 100};
  const std::array<std::uint8_t, 3> a{7, 8, 6};
  const std::array<std::uint8_t, 3> b{9, 9, 9};
  for (const auto& row : tests::runnable(div_kernels())) {
    std::array<std::uint8_t, 3> q{};
    DivKernel(only(row.name)).run(params, a.data(), b.data(), q.data(), 3);
    EXPECT_EQ(q, (std::array<std::uint8_t, 3>{100, 255, 0})) << row.name;
  }
}

TEST(SquareKernel, EqualsTheReference) {
  expect_real_pairs_equal<SquareKernel>(square_kernels(), reference_square);
}

TEST(LookupKernel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(lookup_kernels())) {
    const LookupKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kElementwiseRounds; ++round) {
      LookupCall call;
      call.rows = pick(random, 0, 5);
      call.width = pick(random, 0, round % 2 == 0 ? 80 : 600);
      call.in_stride = call.width + pick(random, 0, 3);
      call.out_stride = call.width + pick(random, 0, 3);
      const RandomBytes table(random, 256);
      const RandomBytes in(random, call.rows * call.in_stride);
      const RandomBytes before(random, call.rows * call.out_stride);
      const GuardedBuffer got(static_cast<std::size_t>(call.rows * call.out_stride));
      const GuardedBuffer want(static_cast<std::size_t>(call.rows * call.out_stride));
      std::copy_n(before.data(), call.rows * call.out_stride, got.data());
      std::copy_n(before.data(), call.rows * call.out_stride, want.data());
      call.table = table.data();
      call.in = in.data();
      call.out = got.data();
      kernel.run_rows(call);
      call.out = want.data();
      reference_lookup(call);
      expect_equal(got, want, std::string(row.name));
    }
  }
}

TEST(LookupByChannel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  for (int round = 0; round < kElementwiseRounds; ++round) {
    const std::int64_t channels = pick(random, 1, 40);
    const std::int64_t pixels = pick(random, 0, 30);
    const std::int64_t count = channels * pixels;
    const RandomBytes tables(random, channels * 256);
    const RandomBytes in(random, count);
    const GuardedBuffer got(static_cast<std::size_t>(count));
    const GuardedBuffer want(static_cast<std::size_t>(count));
    const auto span = [&](const RandomBytes& bytes, std::int64_t size) {
      return std::span<const std::uint8_t>(bytes.data(), static_cast<std::size_t>(size));
    };
    lookup_by_channel(span(tables, channels * 256), channels, in.data(), got.data(), pixels);
    reference_lookup_by_channel(tables.data(), channels, in.data(), want.data(), pixels);
    expect_equal(got, want, "lookup_by_channel");
    std::copy_n(in.data(), count, got.data());
    lookup_by_channel(span(tables, channels * 256), channels, got.data(), got.data(), pixels);
    expect_equal(got, want, "lookup_by_channel in place");
  }
}

PoolShape random_shape(std::mt19937& random) {
  PoolShape shape;
  shape.batch = pick(random, 1, 2);
  shape.channels = pick(random, 1, 70);
  shape.in_h = pick(random, 1, 9);
  shape.in_w = pick(random, 1, 9);
  shape.kernel_h = pick(random, 1, 4);
  shape.kernel_w = pick(random, 1, 4);
  shape.stride_h = pick(random, 1, 3);
  shape.stride_w = pick(random, 1, 3);
  shape.dilation_h = pick(random, 1, 2);
  shape.dilation_w = pick(random, 1, 2);
  shape.pad_top = pick(random, 0, shape.kernel_h - 1);
  shape.pad_left = pick(random, 0, shape.kernel_w - 1);
  shape.pad_bottom = pick(random, 0, shape.kernel_h - 1);
  shape.pad_right = pick(random, 0, shape.kernel_w - 1);
  const auto outputs = [](std::int64_t in, std::int64_t before, std::int64_t after,
                          std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
    const std::int64_t span = in + before + after - (kernel - 1) * dilation - 1;
    return span < 0 ? 0 : span / stride + 1;
  };
  shape.out_h = outputs(shape.in_h, shape.pad_top, shape.pad_bottom, shape.kernel_h, shape.stride_h,
                        shape.dilation_h);
  shape.out_w = outputs(shape.in_w, shape.pad_left, shape.pad_right, shape.kernel_w, shape.stride_w,
                        shape.dilation_w);
  return shape;
}

TEST(PoolKernel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(pool_kernels())) {
    const PoolKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    int pooled = 0;
    for (int round = 0; round < kElementwiseRounds; ++round) {
      const PoolShape shape = random_shape(random);
      if (shape.out_h == 0 || shape.out_w == 0) continue;
      ++pooled;
      const RandomBytes in(random, shape.batch * shape.in_h * shape.in_w * shape.channels);
      const auto outputs =
          static_cast<std::size_t>(shape.batch * shape.out_h * shape.out_w * shape.channels);
      const GuardedBuffer got(outputs);
      const GuardedBuffer want(outputs);
      const int threads = static_cast<int>(pick(random, 1, 3));
      kernel.max(shape, in.data(), got.data(), threads);
      reference_max_pool(shape, in.data(), want.data());
      expect_equal(got, want, std::string(row.name) + " max");
      AverageParams params;
      params.m = scale(random) * 16.0F;
      params.zx = byte(random);
      params.zy = byte(random);
      set_clamp(random, params.low, params.high);
      if (pick(random, 0, 1) == 0) params.count_padding = CountPadding::kInclude;
      kernel.average(shape, params, in.data(), got.data(), threads);
      reference_average_pool(shape, params, in.data(), want.data());
      expect_equal(got, want, std::string(row.name) + " average");
    }
    EXPECT_GT(pooled, kElementwiseRounds / 2);
  }
}

// Finite floats around the range, ties, extremes, NaN, infinities, denormals.
void randomize_floats(std::mt19937& random, float scale_of_range, float* data, std::int64_t count) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::array<float, 8> special{0.0F,          -0.0F,  kInf,  -kInf,
                                     std::nanf(""), 1e-42F, 3e38F, -3e38F};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t kind = pick(random, 0, 9);
    if (kind == 0) {
      data[i] = special[static_cast<std::size_t>(pick(random, 0, 7))];
    } else if (kind < 4) {
      data[i] = scale_of_range * (static_cast<float>(pick(random, -300, 300)) + 0.5F);
    } else {
      data[i] = scale_of_range * static_cast<float>(pick(random, -300000, 300000)) * 1e-3F;
    }
  }
}

TEST(QuantizeKernel, EqualsTheReference) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(quantize_kernels())) {
    const QuantizeKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kElementwiseRounds; ++round) {
      PlaneGeometry geometry;
      geometry.channels = pick(random, 0, 3) == 0 ? pick(random, 1, 20) : 3;
      geometry.pixels = pick(random, 0, 70);
      geometry.plane_stride = geometry.pixels;
      geometry.pixel_stride = geometry.channels;
      const std::int64_t count = geometry.channels * geometry.pixels;
      QuantizeParams affine;
      affine.scale = scale(random);
      affine.zero_point = byte(random);
      const auto bytes = static_cast<std::size_t>(count);
      const GuardedBuffer floats(bytes * sizeof(float));
      randomize_floats(random, affine.scale, floats.data<float>(), count);
      const GuardedBuffer got(bytes);
      const GuardedBuffer want(bytes);
      kernel.quantize(affine, floats.data<float>(), got.data(), count);
      reference_quantize(affine, floats.data<float>(), want.data(), count);
      expect_equal(got, want, std::string(row.name) + " quantize");
      kernel.quantize_planes(affine, geometry, floats.data<float>(), got.data());
      reference_quantize_planes(affine, geometry, floats.data<float>(), want.data());
      expect_equal(got, want, std::string(row.name) + " quantize_planes");
      QuantizeParams rest;
      rest.scale = affine.scale / 254.0F;
      rest.zero_point = 128;
      const GuardedBuffer low(bytes);
      const GuardedBuffer want_low(bytes);
      kernel.quantize_wide(affine, rest, floats.data<float>(), got.data(), low.data(), count);
      reference_quantize_wide(affine, rest, floats.data<float>(), want.data(), want_low.data(),
                              count);
      expect_equal(got, want, std::string(row.name) + " quantize_wide");
      expect_equal(low, want_low, std::string(row.name) + " quantize_wide, second byte");

      const RandomBytes in(random, count);
      const GuardedBuffer reals(bytes * sizeof(float));
      const GuardedBuffer expected(bytes * sizeof(float));
      kernel.dequantize(affine, in.data(), reals.data<float>(), count);
      reference_dequantize(affine, in.data(), expected.data<float>(), count);
      expect_equal(reals, expected, std::string(row.name) + " dequantize");
      kernel.dequantize_planes(affine, geometry, in.data(), reals.data<float>());
      reference_dequantize_planes(affine, geometry, in.data(), expected.data<float>());
      expect_equal(reals, expected, std::string(row.name) + " dequantize_planes");
    }
  }
}

}  // namespace
}  // namespace qtool
