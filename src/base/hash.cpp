#include "base/hash.h"

// Compiles all of xxHash into this file, so that programs that link qtool need no further library.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace qtool {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH64(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  return hash_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())), seed);
}

}  // namespace qtool
