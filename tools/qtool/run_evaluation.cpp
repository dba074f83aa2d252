#include "run_evaluation.h"

#include <string>
#include <vector>

#include "base/text.h"
#include "console.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"
#include "signals.h"

namespace qtool::tool {

std::optional<Overlap> overlap_unless_stopped(std::span<const std::uint64_t> ids,
                                              const Samples& samples, int threads) try {
  return overlap_of(ids, samples, threads, interrupted);
} catch (const Error& error) {
  if (error.code() != ErrorCode::kCancelled) throw;
  return std::nullopt;
}

EvalResult evaluate_with_progress(const Command& command, const Models& models,
                                  const SampleOptions& images, const Samples& samples,
                                  EvalOptions options, const RunOptions& run) {
  // --labels then names the classes of boxes, whatever the images and the outputs are.
  const bool names_boxes = options.annotations != nullptr;
  command.found(Trait::kImageClasses, to_text("images '", images.images, "'"), [&] {
    if (names_boxes) return true;
    for (std::int64_t i = 0; i < samples.size(); ++i) {
      if (samples.label(i) >= 0) return true;
    }
    return false;
  });
  options.bad_images = images.policy();
  options.labels = images.labels.empty() ? LabelSource::kFolders : LabelSource::kNamed;
  options.threads = run.threads;
  command.found(Trait::kClassScores, to_text("model '", models.fp32.path, "'"), [&] {
    if (names_boxes) return true;
    if (options.answers.boxes || options.answers.mask) return false;
    const std::vector<Tensor> first = first_sample(samples, options.preprocess, options.bad_images);
    return classes_of(*models.fp32.executor, first, 1, options.requantization) > 0;
  });
  ProgressDisplay progress("eval", images.noun(), run.progress_style());
  options.progress = progress.callback();
  EvalResult result = evaluate(*models.fp32.executor, models.int8_executor(), samples, options);
  if (result.labels_ignored) {
    warning(to_text("the images lie in ", samples.class_names().size(),
                    " folders, the network has ", result.classes,
                    " classes: give --labels to measure top-1 and top-5"));
  }
  if (options.labels == LabelSource::kFolders && !result.labels_ignored && result.labelled > 0) {
    warning(
        "classes are the image folders in the order of their names; give --labels if the "
        "network counts them otherwise");
  }
  for (const std::string& doubt : result.doubts()) warning(doubt);
  result.overlap = overlap_unless_stopped(models.calibrated_on, samples, run.threads);
  return result;
}

void require_useful(const EvalResult& result) {
  if (!result.useless()) return;
  throw Error(ErrorCode::kInvalidModel,
              "a model answers less than half of the images with numbers; nothing can be said of "
              "its accuracy");
}

}  // namespace qtool::tool
