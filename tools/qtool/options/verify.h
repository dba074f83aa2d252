#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "model.h"
#include "options/run.h"
#include "program/command.h"
#include "qtool/compare/evaluate.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

/// --min-sqnr of --verify.
void add_verify_limit(Command& command, double& min_sqnr_db);

/// A model that was made and has no name yet.
struct WrittenModel {
  std::span<const std::filesystem::path> files;  ///< where its bytes are; the second holds weights
  std::string name;                              ///< that it will have
  std::string data_name;                         ///< the second file's in the model

  [[nodiscard]] Graph load() const;
  /// Loads and prepares what lies on the disk, as any command will that is given the model. Throws
  /// Error, with the name that the model would have got, when that fails. Models that are thrown
  /// away, to /dev/null, are not looked at.
  void require_readable() const;
};

/// Whether and how a model that was made is run before it gets its name: --verify, --min-sqnr.
class VerifyOptions {
 public:
  void add_to(Command& command);
  /// Refuses --verify without samples.
  void apply(bool has_samples) const;
  [[nodiscard]] bool given() const { return verify_; }

  /// Reads the model, and runs it and `fp32` on the samples, of many on 20 spread evenly. Warns
  /// about what is left out of them.
  [[nodiscard]] Verification run(const Model& fp32, const WrittenModel& written,
                                 const Samples& samples, const Preprocess& preprocess,
                                 BadImages policy, const RunOptions& run) const;

 private:
  bool verify_ = false;
  double min_sqnr_db_ = kDefaultVerifyDb;
};

}  // namespace qtool::tool
