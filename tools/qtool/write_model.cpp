#include "write_model.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>

#include "base/text.h"
#include "console.h"
#include "files.h"
#include "overwrite_check.h"
#include "qtool/base/error.h"
#include "qtool/graph/model_format.h"
#include "qtool/quantize/coverage.h"
#include "report/model_summary.h"
#include "signals.h"

namespace qtool::tool {
namespace {

// Reads the emitted model as any user will read it, and measures how much of it runs on integers.
// Returns the fault of the model if it has one.
std::optional<std::string> read_back(const ModelFiles& files, QuantizeMode mode,
                                     const std::string& model, const Graph& prepared,
                                     QuantizationSummary& summary) {
  Preprocess preprocess;
  try {
    Model emitted;
    emitted.path = summary.output;
    emitted.loaded = load_model_files(files, summary.output);
    const std::optional<StoredPreprocess> stored = emitted.stored_preprocess();
    if (stored) preprocess = stored->preprocess;
    summary.coverage = qtool::measure_coverage(
        emitted.loaded, typical_shapes(emitted.loaded, preprocess), summary.report, interrupted);
    summary.coverage_line = coverage_line(summary.coverage, summary.report);
    return std::nullopt;
  } catch (const Error& error) {
    // The modes dynamic and weight-only do not run the model, so they accept operators that only
    // other runtimes support.
    if (mode == QuantizeMode::kStatic || error.code() != ErrorCode::kUnsupported) throw;
    summary.coverage_line = to_text("coverage is not known: ", error.what());
    if (!can_run(prepared, preprocess)) return std::nullopt;
    return to_text("model '", model, "' runs, and what it becomes does not (", error.what(), ")");
  }
}

// Handles a model that is of no use; `what` is the reason. With --force it warns; otherwise it
// throws.
void refuse_unless_forced(const std::string& what, const WriteModelOptions& options,
                          const QuantizationSummary& summary) {
  if (!options.force) {
    if (options.refused) options.refused(summary);
    throw Error(ErrorCode::kUnsupported,
                to_text(what, "; the model is not written without quantize --force"));
  }
  warning(what);
}

}  // namespace

void declare_model(const std::string& output, bool external_data) {
  static_cast<void>(format_to_save(output));  // throws before any work
  declare_output(output);
  if (external_data) declare_output(data_file_of(output));
}

void write_model(const Graph& int8, const Model& fp32, const Graph& prepared,
                 const WriteModelOptions& options, QuantizationSummary& summary) {
  summary.output = options.output;
  const std::filesystem::path data_file = data_file_of(options.output);
  const ModelFiles files =
      format_to_save(options.output)
          .save(int8, data_file.filename().string(),
                options.external_data ? DataPlace::kSecondFile : DataPlace::kWhereNeeded);
  // Weights may be in other files beside the model, so the file size alone may be too small.
  summary.fp32_bytes = std::max(static_cast<std::int64_t>(std::filesystem::file_size(fp32.path)),
                                summarize(fp32.loaded).parameter_bytes);
  summary.int8_bytes = std::ssize(files.model) + std::ssize(files.data);
  if (const auto fault = read_back(files, options.mode, fp32.path, prepared, summary)) {
    refuse_unless_forced(*fault, options, summary);
  }
  if (gains_nothing(options.mode, summary.coverage, summary.report)) {
    refuse_unless_forced(to_text("nothing of model '", fp32.path, "' becomes integers"), options,
                         summary);
  }
  std::vector<OutputFile> outputs = options.beside;
  outputs.push_back({options.output, files.model});
  if (!files.data.empty()) outputs.push_back({data_file, files.data});
  write_outputs(outputs, [&](std::span<const std::filesystem::path> written) {
    const WrittenModel model{written.subspan(options.beside.size()), options.output,
                             files.data_name};
    if (!options.verify) return model.require_readable();
    summary.verified = options.verify(model);
    summary.unused.add(summary.verified->bad);
    for (const std::string& fault : summary.verified->faults) {
      refuse_unless_forced(to_text("--verify: ", fault), options, summary);
    }
  });
}

}  // namespace qtool::tool
