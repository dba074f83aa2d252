#pragma once

#include <memory>

#include "ops/operator.h"

namespace qtool {

/// The operator that copies a rank-4 tensor of type and shape `info` from the other layout into
/// `to`.
std::unique_ptr<Operator> make_reorder(const ValueInfo& info, Layout to);

}  // namespace qtool
