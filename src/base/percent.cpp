#include "base/percent.h"

#include "base/text.h"

namespace qtool {

std::string percent(double share, int decimals) {
  return to_text(to_fixed(100.0 * share, decimals), " %");
}

std::string percent_of(std::int64_t part, std::int64_t total, int decimals) {
  if (total == 0) return "-";
  return to_text(to_fixed(100.0 * static_cast<double>(part) / static_cast<double>(total), decimals),
                 " %");
}

}  // namespace qtool
