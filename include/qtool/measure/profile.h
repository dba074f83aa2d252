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

struct ProfileOptions {
  int threads = 0;           ///< threads inside operators; 0 = all available
  std::int64_t repeat = 50;  ///< timed runs, after three that are not
  Progress progress{};       ///< counts timed runs, 0 while warming up; may be empty
};

/// One step of a plan and its median time.
struct StepTime {
  StepInfo step;
  double seconds = 0.0;
};

/// Latency of one plan.
struct PlanProfile {
  double median_seconds = 0.0;  ///< of whole runs, without timers inside
  double fastest_seconds = 0.0;
  std::int64_t arena_bytes = 0;
  std::vector<StepTime> steps;  ///< in the order of execution
};

struct ProfileResult {
  int threads = 1;
  std::int64_t repeat = 1;
  std::int64_t batch = 1;
  PlanProfile fp32;
  std::optional<PlanProfile> int8;
};

/// Measures whole runs and single steps of one or two models, which take turns.
/// `inputs`: a tensor for each input of the network, in their order. Throws as infer().
ProfileResult profile(const Executor& fp32, const Executor* int8, std::span<const Tensor> inputs,
                      const ProfileOptions& options);

/// The same for a network with one input.
inline ProfileResult profile(const Executor& fp32, const Executor* int8, const Tensor& input,
                             const ProfileOptions& options) {
  return profile(fp32, int8, {&input, 1}, options);
}

}  // namespace qtool
