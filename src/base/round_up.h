#pragma once

#include <cstddef>
#include <cstdint>

// Rounds counts and sizes up to whole units. Files that are compiled for one instruction set may
// include this header: everything in it has internal linkage, so they emit no function that another
// file could use.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

/// The number of parts of size `b` that cover `a`. It is 0 or less for a negative `a`.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The alignment, in bytes, of tensors, arenas and the parts of a workspace: a cache line.
constexpr std::int64_t kAlignment = 64;

/// `bytes` rounded up to a multiple of kAlignment.
constexpr std::int64_t align_up(std::int64_t bytes) {
  return ceil_div(bytes, kAlignment) * kAlignment;
}

/// The first aligned address at or after `at`.
inline std::byte* align_up(std::byte* at) {
  const auto misaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at)) % kAlignment;
  return at + (kAlignment - misaligned) % kAlignment;
}

}  // namespace
}  // namespace qtool
