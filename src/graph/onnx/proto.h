#pragma once

#include <cstdint>
#include <limits>

// Selects the variant of ONNX's message classes that Debian's ONNX library is built with.
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif

// In the library, only files in graph/onnx include this header, so that no other file depends on
// protobuf.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

namespace qtool {

/// The maximum size of a message: protobuf counts its bytes in a signed integer of 32 bits.
inline constexpr std::int64_t kMaxMessageBytes = std::numeric_limits<std::int32_t>::max();

}  // namespace qtool
