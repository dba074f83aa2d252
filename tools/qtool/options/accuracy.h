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

/// Adds --effort HOW; the value of `effort` is the default.
void add_effort(Command& command, std::string& effort);

/// The command that takes the options. quantize takes all of them and needs images for some. search
/// always has images, and only the table corrects the biases of the models that it tries.
enum class AccuracyUse { kQuantize, kSearch };

/// The options that improve accuracy with the table and images: --effort, --tune-ranges,
/// --weight-rounding and --max-memory; for quantize also --bias-correction, --budget and --resume.
class AccuracyOptions {
 public:
  /// Call after SampleOptions::add_to().
  void add_to(Command& command, AccuracyUse use);
  /// Sets the options that --effort stands for, unless they are given. Throws Error(kUsage) for an
  /// option that needs images if there are none.
  void apply(const Command& command, bool has_samples, RewriteOptions& rewrites);
  [[nodiscard]] BiasCorrection bias_correction() const;
  /// Tunes ranges, rounds weights and corrects biases by running the network on `samples`, as the
  /// options ask. Writes the result into `chosen`. `preprocess` says how images are prepared.
  void measure(const Model& fp32, const CalibrationTable& table, const Samples& samples,
               const Preprocess& preprocess, BadImages policy, const RunOptions& run,
               StaticOptions& chosen);
  /// Removes the file of --resume. Call when the model is written.
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
