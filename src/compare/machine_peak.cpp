#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "kernels/conv/conv.h"
#include "ops/onednn/onednn.h"
#include "qtool/compare/profile.h"

namespace qtool {
namespace {

// The operands of a product of this extent fit in the cache of the core that computes it.
constexpr std::int64_t kExtent = 256;
constexpr std::int64_t kProductMacs = kExtent * kExtent * kExtent;
// The best of many attempts counts. Each attempt is shorter than the time after which a busy
// machine gives the core to another program.
constexpr double kSeconds = 0.001;
constexpr int kAttempts = 60;

// The size of a copied block. Source and copy fit in the cache of the core, but not in its first
// level.
constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 17;

// The highest rate, in items per second, of `threads` threads that work independently. One call of
// `work` does `items` items.
double best_rate(int threads, std::int64_t items, const std::function<void(int worker)>& work) {
  const auto run = [&](std::int64_t times) {
    const Stopwatch all;
    parallel_ranges(threads, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t worker = begin; worker < end; ++worker) {
        for (std::int64_t i = 0; i < times; ++i) work(static_cast<int>(worker));
      }
    });
    return all.seconds();
  };
  run(1);  // warms up
  const double once = std::max(run(1), 1e-6);
  const auto times = std::max<std::int64_t>(1, static_cast<std::int64_t>(kSeconds / once));
  double best = 0.0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double seconds = std::max(run(times), 1e-9);
    best =
        std::max(best, static_cast<double>(items) * static_cast<double>(times) * threads / seconds);
  }
  return best;
}

double integer_rate(int threads) {
  const std::vector<std::int8_t> values(kExtent * kExtent, 3);
  ConvWeights weights;
  weights.values = values;
  weights.out_channels = weights.in_channels = kExtent;
  Epilogue epilogue;
  epilogue.multiplier.assign(kExtent, 0.001F);
  const PackedConv product(weights, epilogue);
  ConvShape shape;
  shape.in_w = shape.out_w = kExtent;
  struct Worker {
    std::vector<std::uint8_t> in, out;
    std::vector<std::byte> workspace;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads));
  for (Worker& worker : workers) {
    worker.in.assign(kExtent * kExtent, 5);
    worker.out.resize(kExtent * kExtent);
    worker.workspace.resize(static_cast<std::size_t>(product.workspace_bytes(shape, 1)));
  }
  return best_rate(threads, kProductMacs, [&](int index) {
    Worker& worker = workers[static_cast<std::size_t>(index)];
    product.run(shape, worker.in.data(), worker.out.data(), worker.workspace.data(), 1);
  });
}

double float_rate(int threads) {
  onednn::MatmulSpec spec;
  spec.a = spec.b = spec.destination = Shape{kExtent, kExtent};
  const onednn::Matmul product(spec, 1);
  const std::vector<float> values(kExtent * kExtent, 0.5F);
  const onednn::PackedPtr packed = product.pack(values.data(), nullptr);
  struct Worker {
    std::vector<float> in, out;
    std::vector<std::byte> workspace;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads));
  for (Worker& worker : workers) {
    worker.in = values;
    worker.out.resize(kExtent * kExtent);
    worker.workspace.resize(static_cast<std::size_t>(product.workspace_bytes()));
  }
  return best_rate(threads, kProductMacs, [&](int index) {
    Worker& worker = workers[static_cast<std::size_t>(index)];
    product.run(worker.in.data(), *packed, worker.out.data(), worker.workspace.data());
  });
}

double copy_rate(int threads) {
  struct Worker {
    std::vector<std::byte> in, out;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads));
  for (Worker& worker : workers) {
    worker.in.assign(kCopiedBytes, std::byte{1});
    worker.out.resize(kCopiedBytes);
  }
  return best_rate(threads, 2 * kCopiedBytes, [&](int index) {
    Worker& worker = workers[static_cast<std::size_t>(index)];
    std::copy(worker.in.begin(), worker.in.end(), worker.out.begin());
  });
}

}  // namespace

MachinePeak machine_peak(int threads) {
  static std::mutex mutex;
  static std::map<int, MachinePeak> known;
  const int resolved = resolve_threads(threads);
  const std::lock_guard lock(mutex);
  const auto found = known.find(resolved);
  if (found != known.end()) return found->second;
  const MachinePeak peak{float_rate(resolved), integer_rate(resolved), copy_rate(resolved)};
  known.emplace(resolved, peak);
  return peak;
}

}  // namespace qtool
