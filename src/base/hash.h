#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace qtool {

/// A 64-bit fingerprint of `bytes`, equal on every machine; for provenance, not for security.
/// XXH64: four lanes of 8 bytes each, multiplied and rotated, then merged and mixed. To hash
/// several pieces, pass the hash of one as the `seed` of the next.
/// Cost: about 0.1 ns per byte. Source: the xxHash specification, XXH64.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) noexcept;

}  // namespace qtool
