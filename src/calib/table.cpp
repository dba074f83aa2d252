#include "qtool/calib/table.h"

namespace qtool {

std::string_view name_of(Degenerate degenerate) noexcept {
  switch (degenerate) {
    case Degenerate::kNo:
      return "";
    case Degenerate::kEmpty:
      return "no values";
    case Degenerate::kAllZero:
      return "all zero";
    case Degenerate::kTooSmall:
      return "too small";
  }
  return "";
}

const ActivationEntry* CalibrationTable::find(std::string_view tensor) const& noexcept {
  for (const Alias& alias : aliases) {
    if (alias.name == tensor) tensor = alias.tensor;
  }
  for (const ActivationEntry& entry : activations) {
    if (entry.tensor == tensor) return &entry;
  }
  return nullptr;
}

}  // namespace qtool
