#include "options/faster.h"

#include <vector>

#include "progress.h"
#include "qtool/compare/evaluate.h"
#include "signals.h"

namespace qtool::tool {

void FasterOnlyOptions::add_to(Command& command) {
  command.flag("--faster-only", faster_only_,
               "Leave in FP32 what is slower on integers, measured on this machine\n"
               "With --threads threads, on the first of --images or --inputs, or else on noise. "
               "What timing cannot tell apart stays on integers.");
  shapes_.add_to(command);
  command.goes_with("--faster-only", {{"--mode", {"static"}}});
  for (const char* option : {"--shape", "--dim"}) {
    command.goes_with(option, {{"--faster-only", {}}});
    command.not_with(option, {{"--images", {}}, {"--inputs", {}}});
  }
}

FasterResult FasterOnlyOptions::measure(const Model& fp32, const StaticInputs& inputs,
                                        const Samples* samples, const Preprocess& preprocess,
                                        BadImages policy, const RunOptions& run) const {
  const Graph& graph = fp32.executor->graph();
  const std::vector<Tensor> sample = samples != nullptr ? first_sample(*samples, preprocess, policy)
                                                        : noise_of(graph, shapes_.concrete(graph));
  ProgressDisplay progress("faster only", "races", run.progress_style());
  FasterOptions options;
  options.threads = run.threads;
  options.progress = progress.callback();
  options.stop = interrupted;
  return faster_only(*fp32.executor, inputs, sample, options);
}

}  // namespace qtool::tool
