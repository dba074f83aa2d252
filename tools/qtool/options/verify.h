#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "cli/command.h"
#include "model.h"
#include "options/run.h"
#include "qtool/analyze/function_pairs.h"
#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

/// Adds --min-sqnr, the limit of --verify.
void add_verify_limit(Command& command, double& min_sqnr_db);

/// A model that was written to files that do not have their final names yet.
struct WrittenModel {
  std::span<const std::filesystem::path> files;  ///< its files; the second holds weights
  std::string name;                              ///< its final name
  std::string data_name;                         ///< name of the second file in the model

  [[nodiscard]] Graph load() const;
  /// The model, ready to run.
  [[nodiscard]] Model open() const;
  /// Loads and prepares the files from the disk, as any command will do with the model. Throws
  /// Error with the final name of the model when that fails. Does nothing if a file is not a
  /// regular file, such as /dev/null.
  void require_readable() const;
};

/// Calls verify(), with progress. `make`: how samples are prepared.
Verification verify_with_progress(const Model& fp32, const Model& int8, const Samples& samples,
                                  const MakeOptions& make, const RunOptions& run,
                                  double min_sqnr_db);

/// The same for a model in memory, to see how it differs from FP32. nullopt if qtool cannot run the
/// model, which may be for other runtimes.
std::optional<Verification> measure_with_progress(const Model& fp32, const Graph& int8,
                                                  const Samples& samples, const MakeOptions& make,
                                                  const RunOptions& run);

/// What pairs before functions cost on a few samples; nothing where the INT8 model rounds none, or
/// where it cannot be measured.
std::optional<FunctionPairs> measure_function_pairs(const Model& fp32, const Quantized& int8,
                                                    std::span<const std::string> exclude,
                                                    const Samples& samples,
                                                    const MakeOptions& make);

/// Whether and how a model is run before it gets its final name: --verify, --min-sqnr.
class VerifyOptions {
 public:
  void add_to(Command& command);
  /// Refuses --verify without samples.
  void apply(bool has_samples) const;
  [[nodiscard]] bool given() const { return verify_; }
  [[nodiscard]] double min_sqnr_db() const { return min_sqnr_db_; }

 private:
  bool verify_ = false;
  double min_sqnr_db_ = kDefaultVerifyDb;
};

}  // namespace qtool::tool
