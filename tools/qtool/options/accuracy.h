#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "options/resume.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/pipeline/recipe.h"

namespace qtool::tool {

/// Rewrites before quantizing: --equalize.
class RewriteOptions {
 public:
  /// `fallback`: the default, as text for the description of the flag.
  void add_to(Command& command, const std::string& fallback);
  /// The rewrites that the flag asks for; nothing without it.
  [[nodiscard]] std::optional<std::vector<std::string>> names() const;

 private:
  std::string equalize_;
};

/// The efforts that a command offers.
enum class Efforts {
  kAll,
  kWithoutBudget,  ///< efforts that end by themselves
};

/// Adds --effort HOW; the value of `effort` is the default.
void add_effort(Command& command, std::string& effort, Efforts offered);

/// The command that takes the options. quantize takes all of them and needs images for some. search
/// always has images, and only the table corrects the biases of the models that it tries.
enum class AccuracyUse { kQuantize, kSearch };

/// The options that improve accuracy with the table and images: --effort, --tune-ranges,
/// --weight-rounding and --rounding-memory; for quantize also --bias-correction, --budget and
/// --resume.
class AccuracyOptions {
 public:
  /// Call after SampleOptions::add_to().
  void add_to(Command& command, AccuracyUse use);
  /// Writes the choices into `recipe`. Throws Error(kUsage) for a step that needs images if there
  /// are none, and for options without effect.
  void apply(const Command& command, bool has_samples, Recipe& recipe) const;
  /// Makes the steps use the file of --resume. This object must outlive their use.
  void resume(MakeOptions& options);
  /// Prints how much of --budget the steps of `recipe` took, if the effort has a budget.
  void print(const Recipe& recipe, const LearnReport& report) const;
  /// Removes the file of --resume. Call when the model is written.
  void finish();

 private:
  std::string effort_ = "fast";
  std::string bias_correction_ = "table";
  bool has_bias_correction_ = false;  ///< whether the command has the option
  bool tune_ranges_ = false;
  std::string weight_rounding_ = "nearest";
  std::int64_t rounding_memory_ = 1024;  // MiB
  std::string budget_ = "10m";
  ResumeOption resume_;
  std::unique_ptr<PartialResults> results_;
};

}  // namespace qtool::tool
