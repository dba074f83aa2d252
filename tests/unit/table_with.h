#pragma once

#include <map>
#include <string>

#include "qtool/calib/table.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/target.h"
#include "quantize/placement/placement.h"

namespace qtool {

/// A table of every tensor that `target` calibrates. `ranges` gives ranges by name; all other
/// tensors have [-1, 1].
inline CalibrationTable table_with(const Graph& prepared, const Target& target,
                                   const std::map<std::string, Range>& ranges) {
  CalibrationTable table;
  for (const std::string& tensor : tensors_to_calibrate(prepared, target)) {
    const auto known = ranges.find(tensor);
    ActivationEntry& entry = table.activations.emplace_back();
    entry.tensor = tensor;
    entry.range = known == ranges.end() ? Range{-1.0F, 1.0F} : known->second;
    entry.affine = choose_affine(entry.range, target.activations);
    entry.dtype = target.activations.dtype;
  }
  return table;
}

}  // namespace qtool
