#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "model.h"
#include "options/images.h"
#include "options/run.h"
#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/profile.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"
#include "report/first_model.h"
#include "report/page/page.h"

namespace qtool::tool {

/// Adds `--report`, for commands that write a page. `more` is the end of its help text.
Option& add_report(Command& command, std::string& report, const std::string& more);

/// The subject of a page: two models, and the samples on which they are compared.
struct PageSubject {
  const Models& models;
  const Samples& samples;
  const SampleOptions& images;  ///< selected the samples
  const std::optional<SourcedPreprocess>& preprocess;
  EvalOptions eval{};  ///< preprocessing and answers; the rest is set here
  const RunOptions& run;
  std::string int8_label{"INT8 model"};  ///< what the page calls Model::path of the INT8 model
  /// The times of both models on the first sample, kRunsBeside runs of each; null: not measured
  /// yet.
  const ProfileResult* times = nullptr;
};

/// The contents of the page besides the analysis: pictures of the worst samples, the time of both
/// models, and the origin of the figures.
Page page_beside(const PageSubject& subject, EvalResult evaluation);

/// The options that decide the ranges of `table` again, for `target`.
CalibrateOptions options_of_table(const CalibrationTable& table, std::string target);

/// Adds what `qtool images` says of the samples that set the ranges. `options` decide ranges.
/// Leaves it out for fewer than four samples. Cost: that of one calibration.
void add_set_check(const Model& fp32, const Samples& calibrated_on, CalibrateOptions options,
                   const PageSubject& subject, Page& page);

/// Writes the page. Adds the overlap of the evaluation with the samples that set the ranges.
void write_page(const std::string& path, Page& page);

/// The most samples on which a page of `auto` finds sources and tries changes; all samples would
/// take hours.
inline constexpr std::int64_t kSamplesOfFirstPage = 50;

/// The page of a model that `auto` made by `inputs`, which the samples `calibrated_on` and the
/// steps of its recipe have set; `calibrates` selected them. It is analyzed on kSamplesOfFirstPage
/// of the samples of `subject` at most. Changes learn from some of these samples; with fewer than
/// kFewestToSplit, or if the same samples judge, those that must learn are not tried. `next`: the
/// commands for the next step. Cost: as `qtool analyze` on these samples.
void write_page_of(const FirstModel& made, const PageSubject& subject, const StaticInputs& inputs,
                   const SampleOptions& calibrates, const Samples& calibrated_on,
                   const std::vector<CommandWords>& next, const MakingCommands& making,
                   const std::string& path);

}  // namespace qtool::tool
