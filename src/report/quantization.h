#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/analyze/function_pairs.h"
#include "qtool/calib/table.h"
#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
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
  std::optional<FasterResult> faster;           ///< result of --faster-only
  std::vector<JudgedChoice> judged;             ///< choices of the effort that held samples judged
  std::optional<FunctionPairs> function_pairs;  ///< where samples are given
  std::optional<Overlap> overlap;  ///< of the given samples with those that set the ranges
  UnusedFiles unused{};            ///< of the samples that were run
  /// The words of a command that measures how fast the model is. Empty where that is not in doubt.
  std::vector<std::string> bench{};
};

/// The tensors of a table, each with range, scale, zero point, SQNR, and the reason if it is
/// degenerate, in at most `width` columns. A short list has the ten with the lowest SQNR, and the
/// degenerate ones. `unused`: files of its images that were not used.
std::string text_of(const CalibrationTable& table, std::string_view output,
                    const UnusedFiles& unused, ListLength length, std::size_t width = kAnyWidth);
/// Counts, the preprocessing of the images, and the tensor with the lowest SQNR. The table itself
/// is not repeated, since the file `output` holds it as JSON.
std::string json_of(const CalibrationTable& table, std::string_view output,
                    const UnusedFiles& unused, const std::optional<SourcedPreprocess>& preprocess);

/// `model.int8.onnx: 120034 bytes, 27.1 % of FP32`, with a line feed.
std::string size_line(const QuantizationSummary& summary);
/// A choice with its gain: `judged on 34 images held back: gptq +1.83 dB (1.31 to 2.33): kept`. For
/// several outputs: the least and the largest gain.
std::string text_of(const JudgedChoice& choice, std::string_view noun);
/// What pairs before functions cost: `20 tensors are rounded between a product and its function: of
/// the noise of the model, each alone, they make together 97 % (4 images): ...`, with the three
/// that cost most.
std::string text_of(const FunctionPairs& pairs, std::string_view noun);
/// The cost of limited pairs: `0.33 dB on 16 images (-0.10 to 0.80 dB)`. `noun`: of one sample.
std::string text_of(const PairChoice& pairs, std::string_view noun);
/// `verified on 20 images, expected 3 dB or more: ...` and a line for each output.
std::string text_of(const Verification& verified);
/// The nodes that stay in FP32: a line for each operator and reason with their number, the most
/// frequent first. `indent` begins each line.
std::string text_of_float_nodes(const QuantizeReport& report, std::string_view indent);
/// Sizes, the coverage line, the verification, the nodes that stayed in FP32 with their reasons,
/// and the files that were not used. A full list has a line for each of these nodes, a short one
/// text_of_float_nodes(). With a command `bench`, the text says that the speed must be measured.
std::string text_of(const QuantizationSummary& summary, ListLength length);
std::string json_of(const QuantizationSummary& summary);

}  // namespace qtool
