// Measures the time that calibration adds to running the network: per value for collecting
// statistics, per tensor for deciding on a range. Read the figure items_per_second: it is values
// per second (1e9 divided by it is ns per value), and tensors per second for the benchmarks
// decide/.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "calib/statistics.h"
#include "kernels/observe/observe.h"
#include "qtool/calib/method.h"
#include "quant/histogram.h"

namespace qtool {
namespace {

enum Kind : std::int64_t { kSigned, kRelu, kRelu6, kKinds };
const char* const kKindNames[] = {"signed", "relu_60_percent_zeros", "relu6_with_spike"};

// Tensors of mobilenet_v2 and squeezenet1.1: {channels, pixels}.
struct Size {
  std::int64_t channels;
  std::int64_t side;
};
constexpr Size kSizes[] = {{16, 112}, {96, 56}, {64, 55}, {960, 7}, {1000, 13}, {1000, 1}};

std::vector<float> activations(std::int64_t kind, std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = normal(random);
    if (kind == kRelu) value = std::max(value - 0.25F, 0.0F);
    if (kind == kRelu6) value = std::clamp(4.0F * value, 0.0F, 6.0F);
  }
  return values;
}

void set_items(benchmark::State& state, std::size_t values) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values));
}

void statistics_observe(benchmark::State& state) {
  const Size size = kSizes[state.range(1)];
  const std::vector<float> values =
      activations(state.range(0), size.channels * size.side * size.side);
  const TensorView view(reinterpret_cast<const std::byte*>(values.data()), DType::kFloat32,
                        Shape{1, size.channels, size.side, size.side},
                        static_cast<Layout>(state.range(2)));
  Statistics statistics;
  for (auto _ : state) statistics.observe(view, statistics.images(), Counting::sample_of(100));
  set_items(state, values.size());
  state.SetLabel(kKindNames[state.range(0)] + std::string(", ") + std::to_string(size.channels) +
                 " channels, side " + std::to_string(size.side) +
                 (state.range(2) == 0 ? ", planes" : ""));
}
BENCHMARK(statistics_observe)
    ->ArgsProduct({benchmark::CreateDenseRange(0, kKinds - 1, 1),
                   benchmark::CreateDenseRange(0, std::size(kSizes) - 1, 1),
                   {1}})
    ->Args({kSigned, 2, 0})
    ->Args({kRelu, 2, 0});

void accumulate(benchmark::State& state, const std::string& name) {
  KernelSelection selection;
  selection.name = name;
  const ObserveKernel kernel(selection);
  const std::int64_t width = state.range(0);
  const std::int64_t pixels = 16384 / width;  // kChunk of src/calib/image_observer.cpp
  const std::vector<float> values = activations(kSigned, pixels * width);
  const auto size = static_cast<std::size_t>(width);
  std::vector<double> sums(size);
  std::vector<double> squares(size);
  std::vector<float> lows(size);
  std::vector<float> highs(size);
  const ChannelTotals totals{sums.data(), squares.data(), lows.data(), highs.data(), width};
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernel.accumulate(values.data(), pixels, totals));
  }
  set_items(state, values.size());
}

void count_cells(benchmark::State& state, const std::string& name) {
  KernelSelection selection;
  selection.name = name;
  const ObserveKernel kernel(selection);
  const std::vector<float> values = activations(state.range(0), 1 << 15);
  FloatHistogram histogram;
  histogram.include(-6.0F, 6.0F);
  for (auto _ : state) {
    const auto count = static_cast<std::int64_t>(values.size());
    const CountingGrid grid = histogram.prepare(count);
    const Signs signs = state.range(0) == kSigned ? Signs::kBoth : Signs::kPositive;
    histogram.add_zeros(
        kernel.count(values.data(), count, grid.cells_per_unit, signs, grid.counters));
  }
  set_items(state, values.size());
  state.SetLabel(kKindNames[state.range(0)]);
}

void decide(benchmark::State& state, const MethodInfo& method) {
  const std::vector<float> values = activations(kRelu, 64 * 56 * 56);
  Statistics statistics;
  statistics.observe(TensorView(reinterpret_cast<const std::byte*>(values.data()), DType::kFloat32,
                                Shape{1, 64, 56, 56}));
  for (auto _ : state) benchmark::DoNotOptimize(method.decide(statistics, MethodOptions()));
  state.SetItemsProcessed(state.iterations());
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& row : observe_kernels()) {
    if (!detect_cpu().holds(row.needs)) continue;
    const std::string name(row.name);
    benchmark::RegisterBenchmark(("observe_accumulate/" + name).c_str(), accumulate, name)
        ->Arg(16)
        ->Arg(96)
        ->Arg(1000);
    benchmark::RegisterBenchmark(("observe_count/" + name).c_str(), count_cells, name)
        ->DenseRange(0, kKinds - 1);
  }
  for (const MethodInfo& method : methods()) {
    benchmark::RegisterBenchmark(("decide/" + std::string(method.name)).c_str(), decide, method);
  }
  return true;
}();

}  // namespace
}  // namespace qtool
