#pragma once

#include <memory>

#include "ops/operator.h"

namespace qtool {

/// Copies a rank-4 tensor of `info` into the other layout, `to`.
std::unique_ptr<Operator> make_reorder(const ValueInfo& info, Layout to);

}  // namespace qtool
