#include "base/floating_point_mode.h"

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace qtool {

#if defined(__SSE2__)
unsigned FloatingPointMode::current() noexcept {
  constexpr unsigned kExceptionFlags = 0x3FU;  // record past exceptions; not part of the mode
  return _mm_getcsr() & ~kExceptionFlags;
}
void FloatingPointMode::set(unsigned mode) noexcept { _mm_setcsr(mode); }
unsigned FloatingPointMode::flushing(unsigned mode) noexcept {
  return mode | 0x8040U;  // flush to zero, denormals are zero
}
#elif defined(__aarch64__)
unsigned FloatingPointMode::current() noexcept {
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return static_cast<unsigned>(fpcr);
}
void FloatingPointMode::set(unsigned mode) noexcept {
  const std::uint64_t fpcr = mode;
  asm volatile("msr fpcr, %0" : : "r"(fpcr));
}
unsigned FloatingPointMode::flushing(unsigned mode) noexcept { return mode | (1U << 24); }
#else
unsigned FloatingPointMode::current() noexcept { return 0; }
void FloatingPointMode::set(unsigned) noexcept {}
unsigned FloatingPointMode::flushing(unsigned mode) noexcept { return mode; }
#endif

}  // namespace qtool
