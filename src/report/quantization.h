#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "qtool/calib/table.h"
#include "qtool/compare/evaluate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"
#include "report/preprocessing.h"
#include "report/samples.h"
#include "report/text_table.h"

namespace qtool {

/// The result of `quantize` for one model.
struct QuantizationSummary {
  std::string output;  ///< the file that was written
  std::int64_t fp32_bytes = 0;
  std::int64_t int8_bytes = 0;
  QuantizeReport report;
  Coverage coverage;          ///< of the emitted model, compiled
  std::string coverage_line;  ///< see coverage_line()
  std::optional<Verification> verified;
  std::optional<FasterResult> faster;  ///< result of --faster-only
  std::optional<Overlap> overlap;      ///< of the given samples with those that set the ranges
  UnusedFiles unused{};                ///< of the samples that were run
};

/// The tensors of a table, each with range, scale, zero point, SQNR, and the reason if it is
/// degenerate, in at most `width` columns. `unused`: files of its images that were not used.
std::string text_of(const CalibrationTable& table, std::string_view output,
                    const UnusedFiles& unused, std::size_t width = kAnyWidth);
/// Counts, the preprocessing of the images, and the tensor with the lowest SQNR. The table itself
/// is not repeated, since the file `output` holds it as JSON.
std::string json_of(const CalibrationTable& table, std::string_view output,
                    const UnusedFiles& unused, const std::optional<SourcedPreprocess>& preprocess);

/// `model.int8.onnx: 120034 bytes, 27.1 % of FP32`, with a line feed.
std::string size_line(const QuantizationSummary& summary);
/// `verified on 20 images, expected 3 dB or more: ...` and a line for each output.
std::string text_of(const Verification& verified);
/// Sizes, the coverage line, the verification, every node that stayed in FP32 with its reason, and
/// the files that were not used.
std::string text_of(const QuantizationSummary& summary);
std::string json_of(const QuantizationSummary& summary);

}  // namespace qtool
