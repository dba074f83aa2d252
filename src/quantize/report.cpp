#include <algorithm>

#include "qtool/quantize/quantize.h"

namespace qtool {

const NodeReport* QuantizeReport::find(std::string_view node) const noexcept {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeReport& report) { return report.node == node; });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace qtool
