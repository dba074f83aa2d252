#pragma once

#include <optional>
#include <span>
#include <string>

#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "qtool/compare/profile.h"
#include "report/preprocessing.h"
#include "report/summary.h"
#include "report/text_table.h"

namespace qtool {

// Results as text for people and as JSON for programs. Text ends with a line feed. JSON has
// two-space indentation and a fixed order of keys. A number that is not finite becomes null. Shares
// lie in [0, 1], and times are in seconds unless the key says otherwise. Tables in a text are made
// to fit into `width` columns; other lines may be longer.

std::string text_of(const EvalResult& result, std::size_t width = kAnyWidth);
/// `preprocess`: how the images were prepared; none if the samples were tensors.
std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess);

/// `class_names[k]` is the name of class k. Classes without a name are shown by their number.
std::string text_of(const InferResult& result, std::span<const std::string> class_names,
                    std::size_t width = kAnyWidth);
std::string json_of(const InferResult& result, std::span<const std::string> class_names,
                    const std::optional<SourcedPreprocess>& preprocess);

std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth);
std::string json_of(const ProfileResult& result);

/// `run`: the result of compiling the model for its declared shapes, if that succeeded.
std::string text_of(const ModelSummary& model, const std::optional<RunSummary>& run,
                    std::size_t width = kAnyWidth);
std::string json_of(const ModelSummary& model, const std::optional<RunSummary>& run);

}  // namespace qtool
