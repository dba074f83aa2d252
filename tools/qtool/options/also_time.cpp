#include "options/also_time.h"

#include <cstdint>

#include "other_programs/other_runtime.h"
#include "qtool/compare/evaluate.h"
#include "run_profile.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kUntimedRuns = 3;

}  // namespace

void MeasuredTimes::require() const {
  if (failure) throw Error(*failure);
}

void AlsoTimeOption::add_to(Command& command) {
  command
      .option("--also-time", runtime_,
              "Time the models in this runtime too\n"
              "onnxruntime, of Python or node, whichever is installed.")
      .placeholder("RUNTIME")
      .one_of({"onnxruntime"});
}

void AlsoTimeOption::require_runtime() const {
  if (!runtime_.empty()) require_onnxruntime();
}

std::optional<RuntimeTimes> AlsoTimeOption::time_again(const ProfileResult& in_qtool,
                                                       const Models& models,
                                                       std::span<const Tensor> sample) const {
  if (runtime_.empty()) return std::nullopt;
  OtherRuntimeJob job;
  job.models = {models.fp32.path};
  job.threads = in_qtool.threads;
  job.repeat = in_qtool.repeat;
  job.seconds = in_qtool.fp32.median_seconds;
  if (in_qtool.int8) {
    job.models.push_back(models.int8->path);
    job.seconds += in_qtool.int8->median_seconds;
  }
  job.seconds *= static_cast<double>(job.repeat + kUntimedRuns);
  RuntimeTimes times = time_in_onnxruntime(job, sample);
  times.batch = in_qtool.batch;
  return times;
}

MeasuredTimes AlsoTimeOption::measure(const Models& models, const Samples& samples,
                                      const Preprocess& preprocess, BadImages policy,
                                      const RunOptions& run, std::int64_t batch) const {
  MeasuredTimes times;
  if (runtime_.empty()) return times;
  try {
    const std::vector<Tensor> sample =
        batch_of_copies(first_sample(samples, preprocess, policy), batch);
    times.in_qtool = profile_with_progress("time", models, sample, kRunsBeside, run);
    const std::optional<RuntimeTimes> other = time_again(*times.in_qtool, models, sample);
    times.runtimes = {times_in_qtool(*times.in_qtool), other.value()};
  } catch (const Error& error) {
    times.failure = error;
  }
  return times;
}

}  // namespace qtool::tool
