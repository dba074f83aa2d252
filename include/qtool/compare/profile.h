#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// A median, and the interval that holds the true median with a confidence of 95 %.
struct MedianInterval {
  double median = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// How much longer one model takes than another, from runs in which the two took turns.
struct RunCost {
  MedianInterval seconds{};   ///< the differences of neighbouring runs
  MedianInterval ratio{};     ///< the time over that of the other model, in neighbouring runs
  double base_seconds = 0.0;  ///< the median time of the other model
  /// Whether the runs varied so much that the figures say little, as on a machine that has other
  /// work to do.
  bool disturbed = false;
};

struct ProfileOptions {
  int threads = 0;           ///< threads inside operators; 0 = all available
  std::int64_t repeat = 50;  ///< timed runs, after three that are not timed
  Progress progress{};       ///< counts timed runs, 0 while warming up; may be empty
};

/// One step of a plan and its time.
struct StepTime {
  StepInfo step;
  double seconds = 0.0;      ///< the median
  double low_seconds = 0.0;  ///< ends of its interval, see MedianInterval
  double high_seconds = 0.0;
  /// The bytes of the tensors that the step reads and writes. Each tensor counts once and as a
  /// whole. 0 for an If or a Loop.
  std::int64_t bytes = 0;
};

/// A step that turns reals into integers or back.
struct Crossing {
  std::size_t step = 0;         ///< index in PlanProfile::steps
  std::string from;             ///< the node or network input whose result is converted
  std::vector<std::string> to;  ///< the nodes and network outputs that read the result
};

/// The highest rates that were measured on this machine with a given number of threads.
struct MachinePeak {
  double fp32_macs_per_second = 0.0;  ///< a matrix product in the cache of each core
  double int8_macs_per_second = 0.0;  ///< an integer product in the cache, by the selected kernel
  double copied_bytes_per_second = 0.0;  ///< bytes read plus bytes written by a copy in the cache
};

/// Measures the peak rates once for each number of threads; later calls return the stored rates. 0
/// threads: all available. Cost: about half a second, the first time.
MachinePeak machine_peak(int threads);

/// Latency of one plan.
struct PlanProfile {
  double median_seconds = 0.0;  ///< median of whole runs, without timers inside
  double low_seconds = 0.0;     ///< ends of its interval, see MedianInterval
  double high_seconds = 0.0;
  double fastest_seconds = 0.0;
  std::int64_t arena_bytes = 0;
  std::vector<StepTime> steps{};  ///< in the order of execution
  std::vector<Crossing> crossings{};
};

struct ProfileResult {
  int threads = 1;
  std::int64_t repeat = 1;
  std::int64_t batch = 1;
  MachinePeak peak;
  PlanProfile fp32;
  std::optional<PlanProfile> int8;
};

/// Measures the peak rates of the machine, and then whole runs and single steps of one or two
/// models, which take turns. `inputs`: a tensor for each input of the network, in the order of the
/// inputs. Throws as infer() does.
ProfileResult profile(const Executor& fp32, const Executor* int8, std::span<const Tensor> inputs,
                      const ProfileOptions& options);

/// profile() for a network with one input.
inline ProfileResult profile(const Executor& fp32, const Executor* int8, const Tensor& input,
                             const ProfileOptions& options) {
  return profile(fp32, int8, {&input, 1}, options);
}

}  // namespace qtool
