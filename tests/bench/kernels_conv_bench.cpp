// Benchmarks convolutions of well-known networks. The reported rate counts only the products that
// the layer needs.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"

namespace qtool {
namespace {

struct Layer {
  const char* name;
  std::int64_t in, out, groups, kernel, stride, size;  // `size`: input height and width
};

constexpr Layer kLayers[] = {
    {"conv3x3_64_64_56", 64, 64, 1, 3, 1, 56},
    {"conv3x3_128_128_28", 128, 128, 1, 3, 1, 28},
    {"conv3x3_256_256_14", 256, 256, 1, 3, 1, 14},
    {"conv3x3_512_512_7", 512, 512, 1, 3, 1, 7},
    {"conv3x3s2_128_256_28", 128, 256, 1, 3, 2, 28},
    {"conv3x3_16_16_32", 16, 16, 1, 3, 1, 32},
    {"conv1x1_256_64_56", 256, 64, 1, 1, 1, 56},
    {"conv1x1_64_256_56", 64, 256, 1, 1, 1, 56},
    {"conv1x1_1024_256_14", 1024, 256, 1, 1, 1, 14},
    {"conv1x1_512_2048_7", 512, 2048, 1, 1, 1, 7},
    {"conv1x1_16_96_112", 16, 96, 1, 1, 1, 112},
    {"conv1x1_96_24_56", 96, 24, 1, 1, 1, 56},
    {"conv1x1_32_16_112", 32, 16, 1, 1, 1, 112},
    {"conv1x1_384_64_14", 384, 64, 1, 1, 1, 14},
    {"conv1x1_960_320_7", 960, 320, 1, 1, 1, 7},
    {"stem7x7s2_3_64_224", 3, 64, 1, 7, 2, 224},
    {"stem3x3s2_3_32_224", 3, 32, 1, 3, 2, 224},
    {"grouped3x3_128_128_g32_28", 128, 128, 32, 3, 1, 28},
    {"gemm_1024", 1024, 1024, 1, 1, 1, 32},
    {"gemv_2048_1000", 2048, 1000, 1, 1, 1, 1},
    {"depthwise3x3_32_112", 32, 32, 32, 3, 1, 112},
    {"depthwise3x3s2_96_112", 96, 96, 96, 3, 2, 112},
    {"depthwise3x3_144_56", 144, 144, 144, 3, 1, 56},
    {"depthwise3x3_384_14", 384, 384, 384, 3, 1, 14},
    {"depthwise3x3_960_7", 960, 960, 960, 3, 1, 7},
    {"depthwise5x5_240_14", 240, 240, 240, 5, 1, 14},
};

void run_layer(benchmark::State& state, const Layer& layer, int threads) {
  const std::int64_t depth = layer.in / layer.groups * layer.kernel * layer.kernel;
  std::vector<std::int8_t> values(static_cast<std::size_t>(layer.out * depth));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int8_t>(static_cast<int>(i * 31 % 255) - 127);
  }
  ConvWeights weights;
  weights.values = values;
  weights.in_channels = layer.in;
  weights.out_channels = layer.out;
  weights.kernel_h = weights.kernel_w = layer.kernel;
  weights.groups = layer.groups;
  const PackedConv conv(
      weights, Epilogue{std::vector<float>(static_cast<std::size_t>(layer.out), 1e-4F), 0, 0, 255});
  ConvShape shape;
  shape.in_h = shape.in_w = layer.size;
  shape.stride_h = shape.stride_w = layer.stride;
  shape.pad_top = shape.pad_left = layer.kernel / 2;
  shape.out_h = shape.out_w = (layer.size - 1) / layer.stride + 1;
  const std::int64_t pixels = shape.out_h * shape.out_w;
  std::vector<std::uint8_t> input(static_cast<std::size_t>(layer.size * layer.size * layer.in), 3);
  std::vector<std::uint8_t> output(static_cast<std::size_t>(pixels * layer.out));
  std::vector<std::byte> workspace(static_cast<std::size_t>(conv.workspace_bytes(shape, threads)));
  // Measures the fastest single run, because the mean says little on a shared machine.
  double best = 1.0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    conv.run(shape, input.data(), output.data(), workspace.data(), threads);
    benchmark::ClobberMemory();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  const double products = static_cast<double>(pixels * layer.out * depth);
  state.counters["best_us"] = best * 1e6;
  state.counters["GMAC/s"] = products * 1e-9 / best;
  state.SetLabel(std::string(conv.kernel()));
}

const int registered = [] {
  for (const Layer& layer : kLayers) {
    for (const int threads : {1, 2}) {
      const std::string name = std::string(layer.name) + "/threads:" + std::to_string(threads);
      benchmark::RegisterBenchmark(
          name.c_str(),
          [&layer, threads](benchmark::State& state) { run_layer(state, layer, threads); })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace qtool
