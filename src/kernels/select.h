#pragma once

#include <span>
#include <string_view>

#include "kernels/isa.h"

namespace qtool {

/// One row of the list of a kernel family: its name, the instruction set it needs, and its
/// functions.
template <typename Functions>
struct KernelRow {
  std::string_view name;
  Isa isa;
  const Functions* functions;
};

/// The fastest row that `selection` allows. The first row must be portable. Throws the errors of
/// allowed_isa().
template <typename Functions>
const KernelRow<Functions>& select_kernel(std::span<const KernelRow<Functions>> rows,
                                          const KernelSelection& selection) {
  const Isa allowed = allowed_isa(selection);
  const KernelRow<Functions>* best = &rows.front();
  for (const KernelRow<Functions>& row : rows) {
    const bool usable = row.isa <= allowed && supports(selection.features, row.isa);
    if (usable && row.isa >= best->isa) best = &row;
  }
  return *best;
}

}  // namespace qtool
