#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op_traits.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The domain of ONNX Runtime's own operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// An operator of com.microsoft, and the operands that it takes.
struct MicrosoftOperator {
  std::string_view op_type;
  Arity arity;
};

/// The operators of com.microsoft that upgrade_opset() rewrites, sorted by name.
std::span<const MicrosoftOperator> microsoft_operators() noexcept;

/// The arity of an operator of ONNX's own domain at `opset`. If `opset` is older than the operator,
/// that of its first version. Null for an unknown operator.
const Arity* find_arity(std::string_view op_type, std::int64_t opset) noexcept;

/// Checks that every node of ONNX's own domain or of com.microsoft has all operands that its
/// operator requires and no others. The passes rely on this. Throws Error(kInvalidModel) that names
/// the node, the operands found and the operands expected. Unknown operators and other domains may
/// have any operands. Cost: linear in the graph.
void require_operands(const Graph& graph);

}  // namespace qtool
