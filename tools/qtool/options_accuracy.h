#pragma once

#include <cstdint>
#include <string>

#include "command.h"
#include "model.h"
#include "options_images.h"
#include "options_quantization.h"
#include "options_run.h"
#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// --effort HOW, of which `effort` is the default.
void add_effort(Command& command, std::string& effort);

/// What quantize does for accuracy with the table and images: --effort, --weight-rounding,
/// --bias-correction, --max-memory.
class AccuracyOptions {
 public:
  /// Call after SampleOptions::add_to().
  void add_to(Command& command);
  /// Chooses the steps that --effort stands for, except those that are given. Throws Error(kUsage)
  /// for one that needs images where there are none.
  void apply(const Command& command, bool has_samples, RewriteOptions& rewrites);
  [[nodiscard]] BiasCorrection bias_correction() const;
  /// Rounds weights and corrects biases by what the images do to the network; writes the result
  /// into `chosen`. Throws Error(kUsage) when nothing says how images are prepared.
  void measure(const Model& fp32, const CalibrationTable& table, const SampleOptions& images,
               const RunOptions& run, StaticOptions& chosen) const;

 private:
  std::string effort_ = "fast";
  std::string bias_correction_ = "table";
  std::string weight_rounding_ = "nearest";
  std::int64_t max_memory_ = 1024;  // MiB
};

}  // namespace qtool::tool
