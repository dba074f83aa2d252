#pragma once

#include <cstdint>

namespace qtool {

/// The type that a kernel's epilogue converts its int32 sums to.
enum class OutputType : std::uint8_t {
  kUInt8,    ///< requantized in float
  kFloat32,  ///< dequantized
  kInt32,    ///< not converted: the sums themselves
};

}  // namespace qtool
