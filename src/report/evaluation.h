#pragma once

#include <optional>
#include <span>
#include <string>

#include "qtool/compare/evaluate.h"
#include "report/preprocessing.h"
#include "report/profile.h"
#include "report/text_table.h"

// The results of `eval`.
namespace qtool {

std::string text_of(const EvalResult& result, std::size_t width = kAnyWidth);
/// The times of one run, with an empty line before each runtime; empty without times.
std::string text_of(std::span<const RuntimeTimes> times);
/// `preprocess`: how the images were prepared; none if the samples were tensors. `times`: of one
/// run, one entry for each runtime.
std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess,
                    std::span<const RuntimeTimes> times = {});

}  // namespace qtool
