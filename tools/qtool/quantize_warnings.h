#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qtool/analyze/function_pairs.h"
#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// Warns about options of `quantize` that had no effect, or none on some layers or tensors, about
/// NaN and infinite values in the model, and about ranges that are missing in the table. `table` is
/// the file of the table.
void warn_of(const QuantizeReport& report, const std::string& table);

/// Says whether the pairs of weights were limited, and what that costs. `noun`: a word for a
/// sample.
void print_pairs(const PairChoice& pairs, std::string_view noun);

/// Says what pairs before functions cost, unless that is next to nothing. `noun`: as above.
void print_function_pairs(const FunctionPairs& pairs, std::string_view noun);

/// Warns about pairs of weights that may saturate. `chosen`: what the options choose or, in static
/// mode, the table; nothing is said then.
void warn_of_pairs(const QuantizeReport& report, std::optional<WeightPairs> chosen);

/// Warns about each output that differs from FP32 by noise of a tenth of its power or more, which
/// is a pooled SQNR below 10 dB. `learned_from`: the model learned from the same samples.
void warn_of_noise(const Verification& measured, bool learned_from);

}  // namespace qtool::tool
