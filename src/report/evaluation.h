#pragma once

#include <optional>
#include <string>

#include "qtool/compare/evaluate.h"
#include "report/preprocessing.h"
#include "report/text_table.h"

// The results of `eval`.
namespace qtool {

std::string text_of(const EvalResult& result, std::size_t width = kAnyWidth);
/// `preprocess`: how the images were prepared; none if the samples were tensors.
std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess);

}  // namespace qtool
