#pragma once

#include <cstddef>
#include <cstdint>

// Counts and sizes in whole units. Files for one instruction set may include this: all of it is
// internal to the file that includes it, so none emits a function that another file could use.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

/// How many parts of `b` cover `a`. For a negative `a`, 0 or less.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The alignment, in bytes, of tensors, arenas and the parts of a workspace: a cache line.
constexpr std::int64_t kAlignment = 64;

/// `bytes`, such that what follows is aligned again.
constexpr std::int64_t align_up(std::int64_t bytes) {
  return ceil_div(bytes, kAlignment) * kAlignment;
}

/// The first aligned byte from `at` on.
inline std::byte* align_up(std::byte* at) {
  const auto misaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at)) % kAlignment;
  return at + (kAlignment - misaligned) % kAlignment;
}

}  // namespace
}  // namespace qtool
