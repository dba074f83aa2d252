#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model.h"
#include "options/images.h"
#include "options/resume.h"
#include "options/run.h"
#include "program/command.h"
#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// Which efforts a command offers.
enum class Efforts {
  kAll,
  kWithoutBudget,  ///< those that end by themselves
};

/// --effort HOW, of which `effort` is the default.
void add_effort(Command& command, std::string& effort, Efforts offered);

/// Who rounds and corrects: quantize takes everything, and needs images for some of it; search has
/// images anyway, and tries models whose biases nothing but the table corrects.
enum class AccuracyUse { kQuantize, kSearch };

/// What is done for accuracy with the table and images: --effort, --tune-ranges, --weight-rounding,
/// --max-memory, and with quantize --bias-correction, --budget and --resume.
class AccuracyOptions {
 public:
  /// Call after SampleOptions::add_to().
  void add_to(Command& command, AccuracyUse use);
  /// Writes the choices into `recipe`. Throws Error(kUsage) for a step that needs images where
  /// there are none, and for options without effect.
  void apply(const Command& command, bool has_samples, Recipe& recipe) const;
  /// Runs the steps of `recipe` that learn from samples, and says what came of them. `preprocess`
  /// says how images are prepared.
  void learn(const Model& fp32, const Recipe& recipe, const Samples& samples,
             const Preprocess& preprocess, BadImages policy, const RunOptions& run,
             StaticInputs& inputs);
  /// Removes what was kept for --resume: the model is written.
  void finish();

 private:
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
