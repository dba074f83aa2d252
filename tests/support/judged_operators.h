#pragma once

#include <array>
#include <string_view>

namespace qtool {

/// Operators that ONNX's backend suite, as installed, has no case of. tests/interop compares them
/// with ONNX Runtime instead, and fails when it has no case of one either.
inline constexpr auto kJudgedByOnnxRuntime = std::to_array<std::string_view>(
    {"AffineGrid", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CenterCropPad", "Col2Im",
     "GlobalLpPool", "LpNormalization", "LpPool"});

}  // namespace qtool
