#pragma once

#include <cstddef>
#include <string>

#include "analyze/set_check.h"
#include "qtool/compare/evaluate.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// What a check of samples found, for people: the verdict first, then at most ten lines of each
/// kind.
std::string text_of(const SetCheck& check, const Samples& samples, std::size_t width);

/// Where an INT8 model errs on the samples: the ones that it answers with another class, with both
/// answers and margins, and those with the lowest SQNR, ten lines of each.
std::string text_of_errors(const EvalResult& result, std::size_t width);

/// All of it, and, unless null, what text_of_errors() says with all samples of another class.
std::string json_of(const SetCheck& check, const Samples& samples,
                    const EvalResult* errors = nullptr);

}  // namespace qtool
