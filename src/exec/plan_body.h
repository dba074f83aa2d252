#pragma once

#include <memory>
#include <vector>

#include "lower/shaped_subgraphs.h"
#include "ops/body.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// A body that runs a plan. `inputs`: for each input of the plan, the index of the subgraph's input
/// that it is.
std::shared_ptr<const Body> make_body(std::shared_ptr<const Plan> plan,
                                      std::vector<std::size_t> inputs);

}  // namespace qtool
