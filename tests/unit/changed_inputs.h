#pragma once

#include <utility>

#include "qtool/analyze/analyze.h"
#include "qtool/calib/overrides.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// The inputs of the model that a command makes of `base` with the options of a change that learns
/// nothing.
inline StaticInputs changed_inputs(StaticInputs base, const Change& change) {
  base.options.exclude = change.exclude;
  base.options.rewrites = change.rewrites;
  base.options.wide = change.wide;
  if (!change.target.empty()) base.options.target = change.target;
  if (!change.weight_method.empty()) base.options.types.weight_method = change.weight_method;
  Overrides overrides;
  overrides.ranges = change.ranges;
  apply_overrides(overrides, Scheme(), nullptr, base.table);
  return base;
}

}  // namespace qtool
