#pragma once

#include <cstdint>

namespace qtool {

/// What a kernel's epilogue makes of its int32 sums.
enum class OutputType : std::uint8_t {
  kUInt8,    ///< requantized in float
  kFloat32,  ///< dequantized
  kInt32,    ///< nothing: the sums themselves
};

}  // namespace qtool
