#pragma once

#include <nlohmann/json.hpp>

#include "qtool/compare/evaluate.h"

namespace qtool {

/// Adds all rows of `top1_by_class`, `confusions` and, with two models, `flips`. Adds nothing if
/// the network does not have one score per class.
void add_classes(const EvalResult& result, nlohmann::ordered_json& json);

}  // namespace qtool
