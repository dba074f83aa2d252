#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "qtool/compare/evaluate.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// Adds all rows of `top1_by_class`, `confusions` and, with two models, `flips`. Adds nothing if
/// the network does not have one score per class.
void add_classes(const EvalResult& result, nlohmann::ordered_json& json);

/// The number of samples that also set the ranges, as `overlap`; null if those are not known.
nlohmann::ordered_json overlap_json(const std::optional<Overlap>& overlap);

}  // namespace qtool
