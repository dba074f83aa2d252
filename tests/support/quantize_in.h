#pragma once

#include "qtool/quantize/quantize.h"

namespace qtool {

/// quantize() in a mode that needs no table, which is chosen at run time.
inline Quantized quantize_in(QuantizeMode mode, const Graph& prepared,
                             const QuantizeOptions& options = {}) {
  return mode == QuantizeMode::kDynamic ? quantize(prepared, DynamicOptions{options, {}})
                                        : quantize(prepared, WeightOnlyOptions{options, {}});
}

}  // namespace qtool
