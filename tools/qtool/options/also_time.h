#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "model.h"
#include "options/run.h"
#include "qtool/base/error.h"
#include "qtool/compare/profile.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"
#include "report/profile.h"

namespace qtool::tool {

/// The times that were measured at the end of long work, whose result must not be lost by them.
struct MeasuredTimes {
  std::vector<RuntimeTimes> runtimes{};  ///< qtool first; empty after a failure
  /// Those in qtool, also where the other runtime failed; nullopt if they were not measured.
  std::optional<ProfileResult> in_qtool{};
  std::optional<Error> failure{};

  /// Throws the failure if there is one. Call when the result is printed.
  void require() const;
};

/// Times the models in another runtime too: --also-time.
class AlsoTimeOption {
 public:
  void add_to(Command& command);
  /// Throws Error(kUnsupported) if the option names a runtime that is not installed. Call before
  /// long work.
  void require_runtime() const;
  /// The times of `models` in that runtime, with the threads and the number of runs that `in_qtool`
  /// has, on the same sample; nullopt without the option. Throws as time_in_onnxruntime() does.
  [[nodiscard]] std::optional<RuntimeTimes> time_again(const ProfileResult& in_qtool,
                                                       const Models& models,
                                                       std::span<const Tensor> sample) const;
  /// The times of `models` in qtool and in that runtime, on the first of the samples, `batch` times
  /// in each run. No times without the option.
  [[nodiscard]] MeasuredTimes measure(const Models& models, const Samples& samples,
                                      const Preprocess& preprocess, BadImages policy,
                                      const RunOptions& run, std::int64_t batch = 1) const;

 private:
  std::string runtime_;
};

}  // namespace qtool::tool
