#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/graph/graph.h"

namespace qtool {

/// The domain of ONNX Runtime's own operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The inputs and outputs that an operator takes, from the opset `since` of its domain on. In
/// `inputs` and `outputs`, one character stands for each operand: `1` is required, `?` may be left
/// out, `+` stands for one or more operands, `*` for any number of operands.
struct Arity {
  std::string_view op_type;
  std::int64_t since = 1;
  std::string_view inputs;
  std::string_view outputs;

  /// Whether the number of inputs has no upper limit.
  [[nodiscard]] bool is_open() const noexcept {
    return inputs.ends_with('+') || inputs.ends_with('*');
  }
};

/// All rows of ONNX's own domain, sorted by operator and opset.
std::span<const Arity> arities() noexcept;
/// All rows of com.microsoft, sorted by operator: the operators that upgrade_opset() rewrites.
std::span<const Arity> microsoft_arities() noexcept;

/// The row of an operator of ONNX's own domain that is in force at `opset`. If `opset` is older
/// than the first row, the first row. Null for an unknown operator.
const Arity* find_arity(std::string_view op_type, std::int64_t opset) noexcept;

/// Checks that every node of ONNX's own domain or of com.microsoft has all operands that its
/// operator requires and no others. The passes rely on this. Throws Error(kInvalidModel) that names
/// the node, the operands found and the operands expected. Unknown operators and other domains may
/// have any operands. Cost: linear in the graph.
void require_operands(const Graph& graph);

}  // namespace qtool
