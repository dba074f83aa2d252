#pragma once

#include <cstdint>

#include "kernels/observe/contract.h"

namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see logarithm.h

// Has memory fetched line by line, in step with a loop that computes meanwhile; to the second-level
// cache, since the first is full of what the loop works on. Loops keep a copy of their own, which
// stays in registers.
class Fetch {
 public:
  explicit Fetch(const Ahead& ahead)
      : at_(reinterpret_cast<std::uintptr_t>(ahead.first)),
        end_(at_ + static_cast<std::uintptr_t>(ahead.bytes)) {}

  // The next `kLines`, unless all are fetched. The last ones may lie behind the end.
  template <unsigned kLines>
  [[gnu::always_inline]] void lines() {
    if (at_ >= end_) return;
    for (unsigned line = 0; line < kLines; ++line, at_ += kLineBytes) {
      __builtin_prefetch(reinterpret_cast<const void*>(at_), 0, 2);
    }
  }

 private:
  static constexpr std::uintptr_t kLineBytes = 64;
  std::uintptr_t at_;
  std::uintptr_t end_;
};

}  // namespace
}  // namespace qtool
