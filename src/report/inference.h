#pragma once

#include <optional>
#include <span>
#include <string>

#include "qtool/compare/infer.h"
#include "report/preprocessing.h"
#include "report/text_table.h"

// The results of `infer`.
// Text ends with a line feed. JSON has two-space indentation and a fixed order of keys. A number
// that is not finite becomes null. Shares lie in [0, 1], and times are in seconds unless the key
// says otherwise. Tables in a text are made to fit into `width` columns; other lines may be longer.
namespace qtool {

/// `class_names[k]` is the name of class k. Classes without a name are shown by their number.
std::string text_of(const InferResult& result, std::span<const std::string> class_names,
                    std::size_t width = kAnyWidth);
std::string json_of(const InferResult& result, std::span<const std::string> class_names,
                    const std::optional<SourcedPreprocess>& preprocess);

}  // namespace qtool
