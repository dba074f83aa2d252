#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model.h"
#include "options/images.h"
#include "options/quantization.h"
#include "options/resume.h"
#include "options/run.h"
#include "program/command.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// --effort HOW, of which `effort` is the default.
void add_effort(Command& command, std::string& effort);

/// Who rounds and corrects: quantize takes everything, and needs images for some of it; search has
/// images anyway, and tries models whose biases nothing but the table corrects.
enum class AccuracyUse { kQuantize, kSearch };

/// What is done for accuracy with the table and images: --effort, --tune-ranges, --weight-rounding,
/// --max-memory, and with quantize --bias-correction, --budget and --resume.
class AccuracyOptions {
 public:
  /// Call after SampleOptions::add_to().
  void add_to(Command& command, AccuracyUse use);
  /// Chooses the steps that --effort stands for, except those that are given. Throws Error(kUsage)
  /// for one that needs images where there are none.
  void apply(const Command& command, bool has_samples, RewriteOptions& rewrites);
  [[nodiscard]] BiasCorrection bias_correction() const;
  /// Tunes ranges, rounds weights and corrects biases by what `samples` do to the network; writes
  /// the result into `chosen`. `preprocess` says how images are prepared.
  void measure(const Model& fp32, const CalibrationTable& table, const Samples& samples,
               const Preprocess& preprocess, BadImages policy, const RunOptions& run,
               StaticOptions& chosen);
  /// Removes what was kept for --resume: the model is written.
  void finish();

 private:
  class Clock;
  void tune(const Model& fp32, const CalibrationTable& table, const Samples& samples,
            const CollectOptions& collect, const RunOptions& run, const Clock& clock,
            StaticOptions& chosen) const;
  void round(const Model& fp32, const CalibrationTable& table, const Samples& samples,
             CollectOptions collect, const RunOptions& run, const Clock& clock,
             StaticOptions& chosen);

  std::string effort_ = "fast";
  std::string bias_correction_ = "table";
  bool tune_ranges_ = false;
  std::string weight_rounding_ = "nearest";
  std::int64_t max_memory_ = 1024;  // MiB
  std::string budget_ = "10m";
  ResumeOption resume_;
  std::unique_ptr<PartialResults> results_;
};

}  // namespace qtool::tool
