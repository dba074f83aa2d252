#pragma once

#include <optional>
#include <string>

#include "qtool/compare/evaluate.h"
#include "report/preprocessing.h"
#include "report/text_table.h"

// The results of `eval`.
// Text ends with a line feed. JSON has two-space indentation and a fixed order of keys. A number
// that is not finite becomes null. Shares lie in [0, 1], and times are in seconds unless the key
// says otherwise. Tables in a text are made to fit into `width` columns; other lines may be longer.
namespace qtool {

std::string text_of(const EvalResult& result, std::size_t width = kAnyWidth);
/// `preprocess`: how the images were prepared; none if the samples were tensors.
std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess);

}  // namespace qtool
