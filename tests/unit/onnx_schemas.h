#pragma once

#include <string>
#include <vector>

namespace qtool {

/// An operator with its inputs and outputs as the ONNX library declares them, in the letters of
/// Arity.
struct DeclaredOperator {
  std::string op_type;
  int since = 1;
  std::string inputs;
  std::string outputs;
};

/// Every operator of ONNX's own domain, once for every opset that changes its declaration, sorted
/// by name and opset. Deprecated operators are left out.
std::vector<DeclaredOperator> declared_operators();

}  // namespace qtool
