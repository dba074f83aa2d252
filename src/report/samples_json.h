#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "qtool/samples/samples.h"
#include "report/samples.h"

namespace qtool {

/// A list of {"path", "reason"}.
nlohmann::ordered_json json_of(const std::vector<BadImage>& bad);
/// Adds `left_out`, the list of bad images, and `passed_over`: {"count", "first"}, where `first`
/// has up to ten paths.
void add_unused(const UnusedFiles& files, nlohmann::ordered_json& json);

/// Adds all rows of `top1_by_class`, `confusions` and, with two models, `flips`. Adds nothing if
/// the network does not have one score per class.
void add_classes(const EvalResult& result, nlohmann::ordered_json& json);

/// The number of samples that also set the ranges, as `overlap`; null if those are not known.
nlohmann::ordered_json overlap_json(const std::optional<Overlap>& overlap);

}  // namespace qtool
