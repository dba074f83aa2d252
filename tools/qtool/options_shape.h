#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "qtool/graph/graph.h"

namespace qtool::tool {

/// --shape, which may come several times: shapes of inputs that the model leaves open.
void add_shape_option(Command& command, std::vector<std::string>& shapes);

/// Concrete shapes of all inputs: what `given` says (`1x3x224x224` of the only input,
/// `ids=1x128` of any), otherwise as declared, with `batch` as the first extent; without `batch`,
/// the model's, or 1. Throws Error(kUsage) for a name that is no input and where an extent is not
/// known.
InputShapes concrete_shapes(const Graph& graph, const std::vector<std::string>& given,
                            std::optional<std::int64_t> batch = {});

}  // namespace qtool::tool
