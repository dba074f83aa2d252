#include "qtool/samples/hold_back.h"

namespace qtool {

SplitSamples hold_back(const Samples& samples) {
  if (samples.size() < kLeastForHoldOut) return {samples, std::nullopt};
  return {samples.all_but_part(kHeldOutPart, kHoldOutParts),
          samples.part(kHeldOutPart, kHoldOutParts)};
}

}  // namespace qtool
