#pragma once

#include <optional>
#include <span>
#include <string>

#include "qtool/compare/infer.h"
#include "report/preprocessing.h"
#include "report/text_table.h"

// The results of `infer`.
namespace qtool {

/// `class_names[k]` is the name of class k. Classes without a name are shown by their number.
std::string text_of(const InferResult& result, std::span<const std::string> class_names,
                    std::size_t width = kAnyWidth);
std::string json_of(const InferResult& result, std::span<const std::string> class_names,
                    const std::optional<SourcedPreprocess>& preprocess);

}  // namespace qtool
