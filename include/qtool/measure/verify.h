#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/measure/evaluate.h"
#include "qtool/measure/output_error.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// The SQNR in dB below which a model is taken for broken unless the user says otherwise: the noise
/// has half the power of the signal. A detector of SiLU layers, without equalization, is near 8.
inline constexpr double kDefaultVerifyDb = 3.0;

/// Whether an INT8 model still does what its FP32 network does.
struct Verification {
  std::string noun = "image";  ///< what was run, see Samples::noun()
  std::int64_t samples = 0;    ///< that both models ran
  double min_sqnr_db = kDefaultVerifyDb;
  std::vector<OutputError> outputs;  ///< INT8 against FP32
  std::vector<BadImage> bad;         ///< left out
  /// What speaks against the model, one sentence each; empty: it passed.
  std::vector<std::string> faults;

  /// Outputs of integers are shown, not judged: see OutputError::dtype.
  [[nodiscard]] static bool judges(const OutputError& output) { return is_float(output.dtype); }
};

/// Runs both models on all of `samples`. A fault is an output of floats whose SQNR, the mean over
/// the samples, is below `min_sqnr_db` or no number; and samples that FP32 answers and INT8 does
/// not (see has_answer()). `options`: labels and answers are not used. Cost and errors: those of
/// evaluate().
Verification verify(const Executor& fp32, const Executor& int8, const Samples& samples,
                    const EvalOptions& options, double min_sqnr_db);

}  // namespace qtool
