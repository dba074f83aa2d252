#include "unit/onnx_schemas.h"

#include <algorithm>
#include <tuple>

#include "graph/onnx/defs.h"

namespace qtool {
namespace {

std::string letters(const std::vector<onnx::OpSchema::FormalParameter>& parameters) {
  std::string text;
  for (const auto& parameter : parameters) {
    switch (parameter.GetOption()) {
      case onnx::OpSchema::Single:
        text += '1';
        break;
      case onnx::OpSchema::Optional:
        text += '?';
        break;
      case onnx::OpSchema::Variadic:
        text += parameter.GetMinArity() > 0 ? '+' : '*';
        break;
    }
  }
  return text;
}

}  // namespace

std::vector<DeclaredOperator> declared_operators() {
  std::vector<DeclaredOperator> operators;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty() || schema.deprecated()) continue;
    operators.push_back({schema.Name(), schema.since_version(), letters(schema.inputs()),
                         letters(schema.outputs())});
  }
  std::sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
    return std::tie(a.op_type, a.since) < std::tie(b.op_type, b.since);
  });
  return operators;
}

}  // namespace qtool
