#pragma once

#include <string>
#include <vector>

namespace qtool {

/// The operands of one side as the ONNX library declares them, in the letters of Arity.
struct DeclaredOperator {
  std::string op_type;
  int since = 1;
  std::string inputs;
  std::string outputs;
};

/// Every operator of ONNX's own domain in every opset that declares it anew, deprecated ones left
/// out, sorted by name and opset.
std::vector<DeclaredOperator> declared_operators();

}  // namespace qtool
