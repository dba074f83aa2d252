#pragma once

#include <cstddef>
#include <string>

#include "analyze/set_check.h"
#include "qtool/compare/evaluate.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// The findings of a check of samples, as text for people: the verdict first, then at most ten
/// lines for each kind of finding.
std::string text_of(const SetCheck& check, const Samples& samples, std::size_t width);

/// The samples on which an INT8 model errs: samples to which it gives another class, with both
/// answers and margins, and samples with the lowest SQNR. At most ten lines of each.
std::string text_of_errors(const EvalResult& result, std::size_t width);

/// All findings of a check as JSON. If `errors` is not null, also the contents of text_of_errors()
/// with all samples that get another class.
std::string json_of(const SetCheck& check, const Samples& samples,
                    const EvalResult* errors = nullptr);

}  // namespace qtool
