#pragma once

#include <nlohmann/json.hpp>

#include "qtool/analyze/analyze.h"

namespace qtool {

/// The figures that the page draws for single tensors and layers: `histograms`, `scatter`,
/// `channels` and `weights`. Each is a list; what belongs to the worst source comes first. Cost:
/// linear.
nlohmann::ordered_json charts_of(const AnalyzeResult& analysis);

}  // namespace qtool
