// What calibration adds to running the network: per value while collecting, per tensor to decide.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "qtool/calib/method.h"
#include "qtool/calib/statistics.h"
#include "qtool/quant/histogram.h"

namespace qtool {
namespace {

enum Kind : std::int64_t { kSigned, kRelu };

const std::vector<float>& activations(std::int64_t kind) {
  static const auto make = [](std::int64_t of) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(64 * 56 * 56);  // 784 KiB
    for (float& value : values)
      value = of == kRelu ? std::max(normal(random), 0.0F) : normal(random);
    return values;
  };
  static const std::vector<float> with_sign = make(kSigned);
  static const std::vector<float> after_relu = make(kRelu);
  return kind == kRelu ? after_relu : with_sign;
}

TensorView view(const std::vector<float>& values, Layout layout) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::kFloat32, Shape{1, 64, 56, 56},
          layout};
}

void histogram_observe(benchmark::State& state) {
  const std::vector<float>& values = activations(state.range(0));
  FloatHistogram histogram;
  for (auto _ : state) histogram.observe(values);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK(histogram_observe)->Arg(kSigned)->Arg(kRelu);

void statistics_observe(benchmark::State& state) {
  const std::vector<float>& values = activations(state.range(0));
  Statistics statistics;
  for (auto _ : state) {
    statistics.observe(view(values, static_cast<Layout>(state.range(1))));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK(statistics_observe)->ArgsProduct({{kSigned, kRelu}, {0, 1}});

void decide(benchmark::State& state, const MethodInfo& method) {
  Statistics statistics;
  statistics.observe(view(activations(kRelu), Layout::kPlain));
  for (auto _ : state) benchmark::DoNotOptimize(method.decide(statistics, MethodOptions()));
}

[[maybe_unused]] const bool registered = [] {
  for (const MethodInfo& method : methods()) {
    benchmark::RegisterBenchmark(("decide/" + std::string(method.name)).c_str(), decide, method);
  }
  return true;
}();

}  // namespace
}  // namespace qtool
