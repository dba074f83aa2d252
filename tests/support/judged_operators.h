#pragma once

#include <array>
#include <string_view>

namespace qtool {

/// Operators for which the installed backend suite of ONNX has no case. tests/interop compares them
/// with ONNX Runtime instead, and fails if it has no case for one of them either.
inline constexpr auto kJudgedByOnnxRuntime = std::to_array<std::string_view>(
    {"AffineGrid", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CenterCropPad", "Col2Im",
     "GlobalLpPool", "LpNormalization", "LpPool"});

}  // namespace qtool
