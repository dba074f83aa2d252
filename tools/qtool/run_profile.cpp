#include "run_profile.h"

#include "progress.h"

namespace qtool::tool {

ProfileResult profile_with_progress(const std::string& step, const Models& models,
                                    std::span<const Tensor> sample, std::int64_t repeat,
                                    const RunOptions& run) {
  ProgressDisplay progress(step, "runs", run.progress_style());
  ProfileOptions options;
  options.threads = run.threads;
  options.repeat = repeat;
  options.progress = progress.callback();
  return profile(*models.fp32.executor, models.int8_executor(), sample, options);
}

}  // namespace qtool::tool
