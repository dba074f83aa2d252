#pragma once

#include <cstdint>
#include <limits>

// The variant of ONNX's message classes that Debian's library is built with.
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif

// Only files named onnx_*.cpp include this header: protobuf stays in them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

namespace qtool {

/// Protobuf counts the bytes of a message in 32 bits.
inline constexpr std::int64_t kMaxMessageBytes = std::numeric_limits<std::int32_t>::max();

}  // namespace qtool
