#pragma once

#include <cstdint>

namespace qtool {

/// What a kernel's epilogue makes of its int32 sums.
enum class OutputType : std::uint8_t { kUInt8, kFloat32 };

}  // namespace qtool
