#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/graph/graph.h"

namespace qtool {

/// The domain of ONNX Runtime's own operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The operands that an operator takes from one opset of its domain on. A letter stands for
/// each: `1` must be there, `?` may be left out, `+` any number from one on, `*` any number.
struct Arity {
  std::string_view op_type;
  std::int64_t since = 1;
  std::string_view inputs;
  std::string_view outputs;

  /// Whether it takes any number of inputs.
  [[nodiscard]] bool is_open() const noexcept {
    return inputs.ends_with('+') || inputs.ends_with('*');
  }
};

/// All rows of ONNX's own domain, sorted by operator and opset.
std::span<const Arity> arities() noexcept;
/// Those of com.microsoft: the operators that upgrade_opset() rewrites.
std::span<const Arity> microsoft_arities() noexcept;

/// The row of ONNX's own domain in force at `opset`, for an older opset than the first row's that
/// row; null for an unknown operator.
const Arity* find_arity(std::string_view op_type, std::int64_t opset) noexcept;

/// Checks what passes rely on: a node of ONNX's own domain or of com.microsoft has all operands
/// that its operator requires and no others. Throws Error(kInvalidModel) naming node, what was
/// found and what was expected. Unknown operators and other domains may have any operands. Cost:
/// linear in the graph.
void require_operands(const Graph& graph);

}  // namespace qtool
