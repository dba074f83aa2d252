#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/winograd/winograd.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"

// Checks every kernel of Winograd's method: it is close to the reference, has the same bits as all
// other kernels, and touches no memory outside its operands. The three steps together are the
// convolution.
namespace qtool {
namespace {

using tests::GuardedBuffer;

constexpr int kPixels = kWinogradTile * kWinogradTile;
constexpr std::int64_t kChannelCounts[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100};

void fill_evenly(std::mt19937& random, const GuardedBuffer& buffer) {
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  std::generate_n(buffer.data<float>(), buffer.bytes() / sizeof(float),
                  [&] { return value(random); });
}

std::vector<float> copy_of(const GuardedBuffer& buffer) {
  return {buffer.data<float>(), buffer.data<float>() + buffer.bytes() / sizeof(float)};
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 2e-5) << what << ", " << i;
  }
}

// `result_of(kernel)` must be close to `expected` with every kernel, and the same bits with all.
template <typename ResultOf>
void expect_of_every_kernel(const std::vector<float>& expected, const ResultOf& result_of) {
  std::vector<float> first;
  for (const auto& row : tests::runnable(winograd_kernels())) {
    const WinogradKernel kernel(tests::only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    const std::vector<float> found = result_of(kernel);
    expect_close(found, expected, std::string(row.name));
    if (first.empty()) first = found;
    EXPECT_EQ(0, std::memcmp(first.data(), found.data(), found.size() * sizeof(float)));
  }
}

// A tile of results without residuals and clamp; its pixels are adjacent.
WinogradResult result_tile_of(const float* places, std::int64_t step, std::int64_t channels,
                              const float* bias, float* pixels) {
  WinogradResult tile;
  tile.places = places;
  tile.step = step;
  tile.channels = channels;
  tile.bias = bias;
  for (int k = 0; k < kPixels; ++k) {
    tile.pixels[k] = pixels + k * channels;
    tile.residuals[k] = nullptr;
  }
  tile.low = -std::numeric_limits<float>::infinity();
  tile.high = std::numeric_limits<float>::infinity();
  return tile;
}

TEST(WinogradKernel, ReadsATileAsTheReferenceDoes) {
  auto random = tests::seeded_generator();
  for (const std::int64_t channels : kChannelCounts) {
    const auto bytes = static_cast<std::size_t>(channels) * sizeof(float);
    const std::int64_t step = channels + tests::pick(random, 0, 3);
    // One guarded pixel, which all places share, and one buffer of the other pixels.
    const GuardedBuffer edge(bytes);
    const GuardedBuffer others(bytes * kWinogradPlaces);
    fill_evenly(random, edge);
    fill_evenly(random, others);
    const auto run = [&](const auto& function) {
      const GuardedBuffer places(static_cast<std::size_t>((kWinogradPlaces - 1) * step + channels) *
                                 sizeof(float));
      places.fill(0);
      WinogradSource tile;
      for (int k = 0; k < kWinogradPlaces; ++k) {
        tile.pixels[k] = k % 5 == 0 ? edge.data<float>() : others.data<float>() + k * channels;
      }
      tile.channels = channels;
      tile.places = places.data<float>();
      tile.step = step;
      function(tile);
      return copy_of(places);
    };
    expect_of_every_kernel(run(reference_winograd_source), [&](const WinogradKernel& kernel) {
      return run([&](const WinogradSource& tile) { kernel.source(tile); });
    });
  }
}

TEST(WinogradKernel, WritesATileAsTheReferenceDoes) {
  auto random = tests::seeded_generator();
  for (const std::int64_t channels : kChannelCounts) {
    for (const bool adds : {false, true}) {
      const auto bytes = static_cast<std::size_t>(channels) * sizeof(float);
      const std::int64_t step = channels + tests::pick(random, 0, 3);
      const GuardedBuffer places(static_cast<std::size_t>((kWinogradPlaces - 1) * step + channels) *
                                 sizeof(float));
      const GuardedBuffer bias(bytes);
      const GuardedBuffer residual(bytes * kPixels);
      fill_evenly(random, places);
      fill_evenly(random, bias);
      fill_evenly(random, residual);
      const auto run = [&](const auto& function) {
        const GuardedBuffer pixels(bytes * kPixels);
        WinogradResult tile = result_tile_of(places.data<float>(), step, channels,
                                             bias.data<float>(), pixels.data<float>());
        for (int k = 0; adds && k < kPixels; ++k) {
          if (k != 3) tile.residuals[k] = residual.data<float>() + k * channels;
        }
        tile.low = -0.5F;
        tile.high = 6.0F;
        function(tile);
        return copy_of(pixels);
      };
      expect_of_every_kernel(run(reference_winograd_result), [&](const WinogradKernel& kernel) {
        return run([&](const WinogradResult& tile) { kernel.result(tile); });
      });
    }
  }
}

// One channel: the changed pixels times the changed weights, changed back, are the convolution.
TEST(WinogradKernel, ComputesAConvolution) {
  auto random = tests::seeded_generator();
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  for (int round = 0; round < 20; ++round) {
    float image[kWinogradPlaces];
    double filter[9];
    for (float& x : image) x = value(random);
    for (double& w : filter) w = double{value(random)};
    float places[kWinogradPlaces];
    WinogradSource source;
    for (int k = 0; k < kWinogradPlaces; ++k) source.pixels[k] = image + k;
    source.channels = source.step = 1;
    source.places = places;
    const WinogradKernel kernel;
    kernel.source(source);
    double weights[kWinogradPlaces];
    winograd_weights(filter, weights);
    for (int k = 0; k < kWinogradPlaces; ++k) places[k] *= static_cast<float>(weights[k]);
    float found[kPixels];
    const float no_bias = 0.0F;
    kernel.result(result_tile_of(places, 1, 1, &no_bias, found));
    for (int k = 0; k < kPixels; ++k) {
      double expected = 0.0;
      for (int i = 0; i < 9; ++i) {
        const int at = (k / kWinogradTile + i / 3) * kWinogradSide + k % kWinogradTile + i % 3;
        expected += filter[i] * double{image[at]};
      }
      EXPECT_NEAR(found[k], expected, 1e-5);
    }
  }
}

// A clamp must not hide that a result is no number.
TEST(WinogradKernel, KeepsNaN) {
  for (const auto& row : tests::runnable(winograd_kernels())) {
    for (const std::int64_t channels : {1, 16}) {
      std::vector<float> places(static_cast<std::size_t>(kWinogradPlaces * channels),
                                std::numeric_limits<float>::quiet_NaN());
      const std::vector<float> bias(static_cast<std::size_t>(channels));
      std::vector<float> pixels(static_cast<std::size_t>(kPixels * channels));
      WinogradResult tile =
          result_tile_of(places.data(), channels, channels, bias.data(), pixels.data());
      tile.low = 0.0F;
      tile.high = 6.0F;
      WinogradKernel(tests::only(row.name)).result(tile);
      for (const float y : pixels) EXPECT_TRUE(std::isnan(y)) << row.name;
    }
  }
}

}  // namespace
}  // namespace qtool
