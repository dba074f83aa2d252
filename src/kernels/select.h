#pragma once

#include <span>
#include <string_view>

#include "kernels/isa.h"

namespace qtool {

/// One row of the list of a kernel family: its name, which is that of its instruction set, the
/// features it needs, and its functions with what they say about themselves.
template <typename Functions>
struct KernelRow {
  std::string_view name;
  CpuFeatures needs;
  const Functions* functions;
};

/// The fastest row that `selection` allows. The rows are sorted, slowest first, and the first one
/// needs no feature. Throws the errors of forced_isa().
template <typename Functions>
const KernelRow<Functions>& select_kernel(std::span<const KernelRow<Functions>> rows,
                                          const KernelSelection& selection) {
  const Isa* forced = forced_isa(selection);
  const KernelRow<Functions>* best = &rows.front();
  for (const KernelRow<Functions>& row : rows) {
    const bool usable = forced == nullptr
                            ? selection.features.holds(row.needs)
                            : row.name == forced->name ||
                                  (forced->needs.holds(row.needs) && row.needs != forced->needs);
    if (usable) best = &row;
  }
  return *best;
}

}  // namespace qtool
