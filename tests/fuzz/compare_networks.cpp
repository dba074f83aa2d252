// Checks that random networks give the same numbers in every way to compute them.
//
// INT8: every instruction set, 1 and 3 threads, image by image and as one batch must give the same
// bits. The reference lowering computes the same graph in FP32. There, a sum next to a rounding tie
// may round to the other side, and later layers propagate the difference; so an SQNR of at least
// kMinSqnr dB between the two is enough. FP32: images one by one must give the same bits in any
// order. With other numbers of threads, or of images at a time, the results must agree within
// kMaxDifference of the largest magnitude. Every fourth network is wide enough for threads to
// divide its layers.
//
// Usage: compare_networks FIRST_SEED COUNT | compare_networks --seconds N. If the results of a
// network differ, prints its seed and exits with 1.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kernels/isa.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "random_network.h"

namespace qtool::fuzz {
namespace {

constexpr std::int64_t kImages = 3;
constexpr double kMinSqnr = 15.0;
// Sums in the widest networks have up to 300,000 terms, so their error is about sqrt(300,000)
// rounding errors.
constexpr float kMaxDifference = 1e-4F;

using Outputs = std::vector<std::vector<float>>;

enum class Order : std::uint8_t { kForward, kBackward };

// The second instruction set where the processor has it, otherwise the first.
std::string_view best_of_two() {
  const Isa& isa = isas().size() > 1 ? isas()[1] : isas()[0];
  return detect_cpu().holds(isa.needs) ? isa.name : isas()[0].name;
}

struct Setting {
  std::string_view isa = best_of_two();
  int threads = 1;
  std::int64_t batch = kImages;
  Lowering lowering = Lowering::kInteger;
  Order order = Order::kForward;  // the order of the batches
};

std::string describe(const Setting& setting) {
  return to_text(setting.isa, ", ", setting.threads, " threads, ", setting.batch,
                 " images at a time", setting.order == Order::kBackward ? ", the last first" : "",
                 setting.lowering == Lowering::kReference ? ", reference lowering" : "");
}

// Runs all images through the network. The outputs of the images follow each other.
Outputs run(const Graph& graph, const Tensor& images, const Setting& setting) {
  ::setenv("QTOOL_KERNEL", std::string(setting.isa).c_str(), 1);
  const Executor executor(graph);
  std::vector<std::int64_t> dims = images.shape().dims();
  dims[0] = setting.batch;
  const Shape shape(dims);
  const auto plan =
      executor.compile({{"x", shape}}, {.threads = setting.threads, .lowering = setting.lowering});
  Outputs outputs(plan->outputs().size());
  Workspace workspace;
  const std::int64_t batches = kImages / setting.batch;
  for (std::int64_t count = 0; count < batches; ++count) {
    const std::int64_t batch = setting.order == Order::kForward ? count : batches - 1 - count;
    Tensor part(DType::kFloat32, shape);
    std::memcpy(part.data(), images.values<float>().data() + batch * shape.elements(),
                static_cast<std::size_t>(part.bytes()));
    const std::vector<TensorView> views{part};
    const auto results = plan->run(views, workspace);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto values = results[i].values<float>();
      outputs[i].resize(values.size() * static_cast<std::size_t>(batches));
      std::copy(values.begin(), values.end(),
                outputs[i].begin() + batch * static_cast<std::ptrdiff_t>(values.size()));
    }
  }
  return outputs;
}

bool same_bits(const Outputs& a, const Outputs& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  }
  return a.size() == b.size();
}

// The largest difference as a share of the largest magnitude of an output.
float difference(const Outputs& a, const Outputs& b) {
  float worst = 0.0F;
  for (std::size_t i = 0; i < a.size(); ++i) {
    float largest = 1e-20F;
    float most = 0.0F;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      largest = std::max(largest, std::abs(a[i][k]));
      most = std::max(most, std::abs(a[i][k] - b[i][k]));
    }
    worst = std::max(worst, most / largest);
  }
  return worst;
}

double sqnr_db(const Outputs& reference, const Outputs& found) {
  double signal = 1e-30;
  double noise = 1e-30;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    for (std::size_t k = 0; k < reference[i].size(); ++k) {
      const double value = reference[i][k];
      signal += value * value;
      noise += (value - found[i][k]) * (value - found[i][k]);
    }
  }
  if (noise <= 1e-30) return std::numeric_limits<double>::infinity();  // also if everything is zero
  return 10.0 * std::log10(signal / noise);
}

// A table with the ranges of the values that the network computes.
CalibrationTable calibrate(const Graph& graph, const Tensor& images, const Target& target) {
  CompileOptions options;
  options.observe = tensors_to_calibrate(graph, target);
  const Executor executor(graph);
  const auto plan = executor.compile({{"x", images.shape()}}, options);
  CalibrationTable table;
  table.method = "minmax";
  table.model_fingerprint = fingerprint(graph);
  std::vector<Range> ranges(options.observe.size());
  Workspace workspace;
  const std::vector<TensorView> views{images};
  plan->run(views, workspace, [&](std::size_t index, const TensorView& tensor) {
    for (const float value : tensor.values<float>()) {
      ranges[index].min = std::min(ranges[index].min, value);
      ranges[index].max = std::max(ranges[index].max, value);
    }
  });
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ActivationEntry entry;
    entry.tensor = options.observe[i];
    entry.method = table.method;
    entry.range = ranges[i];
    entry.dtype = target.activations.dtype;
    entry.affine = choose_affine(entry.range, target.activations);
    table.activations.push_back(std::move(entry));
  }
  return table;
}

// The number of steps that ran on integers, in all networks. Without any such step a comparison
// would prove nothing.
std::int64_t integer_steps = 0;

std::int64_t count_integer_steps(const Graph& graph) {
  const auto plan = Executor(graph).compile({});
  return std::count_if(plan->steps().begin(), plan->steps().end(),
                       [](const StepInfo& step) { return step.integer; });
}

// Whether a step sums floats. The last bits of such sums may depend on the number of threads.
bool multiplies_floats(const Graph& graph) {
  const auto plan = Executor(graph).compile({});
  return std::any_of(plan->steps().begin(), plan->steps().end(),
                     [](const StepInfo& step) { return !step.integer && step.macs > 0; });
}

// The number of FP32 runs, and the number of them whose bits differ from the run with one thread
// and one batch.
std::int64_t float_runs = 0;
std::int64_t float_runs_that_differ = 0;

std::string compare_float(const Graph& graph, const Tensor& images) {
  const Outputs real = run(graph, images, {});
  for (const int threads : {1, 2, 3, 4}) {
    for (const std::int64_t batch : {std::int64_t{1}, kImages}) {
      Setting setting;
      setting.threads = threads;
      setting.batch = batch;
      const Outputs found = run(graph, images, setting);
      const float off = difference(real, found);
      if (!(off <= kMaxDifference)) {
        return to_text("FP32, ", describe(setting), ": ", off, " of the largest magnitude");
      }
      ++float_runs;
      if (!same_bits(real, found)) ++float_runs_that_differ;
      setting.order = Order::kBackward;
      if (!same_bits(found, run(graph, images, setting))) {
        return to_text("FP32, ", describe(setting), ": other bits than in order");
      }
    }
  }
  return {};
}

// Describes the first difference; empty if there is none.
std::string compare(std::uint64_t seed) {
  const Width width = seed % 4 == 0 ? Width::kWide : Width::kNarrow;
  const Graph graph = prepare(random_network(seed, width));
  Random random(seed + 1);
  std::vector<std::int64_t> dims = {kImages};
  for (std::size_t axis = 1; axis < 4; ++axis) {
    dims.push_back((*graph.value(graph.inputs()[0]).shape)[axis].size.value_or(1));
  }
  const Tensor images = random_reals(random, Shape(dims));

  if (std::string found = compare_float(graph, images); !found.empty()) return found;

  StaticOptions options;
  options.target = random.pick(targets()).name;
  // Only this target has tensors that keep 16 bits.
  if (options.target == "qtool" && random.one_in(2)) options.wide = {"*"};
  const CalibrationTable table = calibrate(graph, images, find_target(options.target));
  const std::string saved = save_onnx_bytes(quantize(graph, table, options).graph);
  const Graph integer = prepare(load_onnx_bytes(saved, "", "integer"));
  integer_steps += count_integer_steps(integer);
  if (width == Width::kWide && multiplies_floats(integer)) return {};
  const Outputs expected = run(integer, images, {.isa = isa::portable.name});
  for (const Isa& isa : isas()) {
    if (!detect_cpu().holds(isa.needs)) continue;
    for (const int threads : {1, 3}) {
      for (const std::int64_t batch : {std::int64_t{1}, kImages}) {
        const Setting setting{.isa = isa.name, .threads = threads, .batch = batch};
        if (!same_bits(expected, run(integer, images, setting))) {
          return to_text("INT8 for ", options.target, ", ", describe(setting), ": other bits");
        }
      }
    }
  }
  const Setting reference{.lowering = Lowering::kReference};
  const double sqnr = sqnr_db(run(integer, images, reference), expected);
  if (!(sqnr >= kMinSqnr)) {
    return to_text("INT8 for ", options.target, " against the reference lowering: ", sqnr, " dB");
  }
  return {};
}

int check(std::uint64_t seed) {
  std::string found;
  try {
    found = compare(seed);
  } catch (const Error& error) {
    found = error.what();
  }
  if (found.empty()) return 0;
  std::cout << "seed " << seed << ": " << found << "\n";
  return 1;
}

int report(std::uint64_t first, std::uint64_t networks, int failed) {
  std::cout << networks << " networks from seed " << first << ", " << integer_steps
            << " integer steps, " << failed << " differ; other last bits in "
            << float_runs_that_differ << " of " << float_runs << " FP32 runs\n";
  return failed == 0 && integer_steps > 0 ? 0 : 1;
}

int loop(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const std::uint64_t first = std::random_device{}();
  std::uint64_t networks = 0;
  int failed = 0;
  while (spent() < seconds) failed += check(first + networks++);
  return report(first, networks, failed);
}

}  // namespace
}  // namespace qtool::fuzz

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: compare_networks FIRST_SEED COUNT | --seconds N\n";
    return 2;
  }
  if (std::string_view(argv[1]) == "--seconds") return qtool::fuzz::loop(std::atof(argv[2]));
  const auto first = static_cast<std::uint64_t>(std::atoll(argv[1]));
  const auto count = static_cast<std::uint64_t>(std::atoll(argv[2]));
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) failed += qtool::fuzz::check(seed);
  return qtool::fuzz::report(first, count, failed);
}
