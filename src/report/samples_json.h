#pragma once

#include <nlohmann/json.hpp>

#include "qtool/compare/evaluate.h"

namespace qtool {

/// Adds `top1_by_class`, `confusions` and, with two models, `flips`, all of each, where the network
/// has one score per class.
void add_classes(const EvalResult& result, nlohmann::ordered_json& json);

}  // namespace qtool
