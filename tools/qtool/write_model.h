#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "model.h"
#include "options/verify.h"
#include "qtool/quantize/quantize.h"
#include "report/quantization.h"

namespace qtool::tool {

/// How a quantized model is written.
struct WriteModelOptions {
  QuantizeMode mode = QuantizeMode::kStatic;
  std::string output;
  bool external_data = false;        ///< the weights go to a second file
  bool force = false;                ///< a model that is of no use is written, with a warning
  std::vector<OutputFile> beside{};  ///< files that are written with the model, all or none
  /// Compares the written model with FP32. Empty: it is only read again.
  std::function<Verification(const WrittenModel& written)> verify{};
  /// Called with the summary before a model that is of no use is refused; may be empty.
  std::function<void(const QuantizationSummary& summary)> refused{};
};

/// Declares the files that write_model() writes.
void declare_model(const std::string& output, bool external_data);

/// Writes the model, and reads it as any user will before it gets its final name. Completes
/// `summary`, which holds the report of quantize() and the files that its steps did not use.
/// `prepared` is the graph that was quantized. Throws Error(kUnsupported) for a model that is of no
/// use: nothing of it became integers, it does not run where `prepared` runs, or the comparison
/// found faults.
void write_model(const Graph& int8, const Model& fp32, const Graph& prepared,
                 const WriteModelOptions& options, QuantizationSummary& summary);

}  // namespace qtool::tool
