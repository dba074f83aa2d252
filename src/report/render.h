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
// two-space indentation and a fixed order of keys; a number that is not finite becomes null, shares
// lie in [0, 1], times are in seconds unless the key says otherwise. Tables in a text are made to
// fit into `width` columns; its other lines are as long as they are.

std::string text_of(const EvalResult& result, std::size_t width = kAnyWidth);
/// `preprocess`: what the images went through; none where the samples were tensors.
std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess);

/// `class_names[k]` names class k; classes beyond it go by their number.
std::string text_of(const InferResult& result, std::span<const std::string> class_names,
                    std::size_t width = kAnyWidth);
std::string json_of(const InferResult& result, std::span<const std::string> class_names,
                    const std::optional<SourcedPreprocess>& preprocess);

std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth);
std::string json_of(const ProfileResult& result);

/// `run`: what compiling the model for its declared shapes gave, if it could be compiled.
std::string text_of(const ModelSummary& model, const std::optional<RunSummary>& run,
                    std::size_t width = kAnyWidth);
std::string json_of(const ModelSummary& model, const std::optional<RunSummary>& run);

}  // namespace qtool
