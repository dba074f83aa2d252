#include "graph/onnx_schema.h"

#include "graph/onnx_defs.h"

namespace qtool {
namespace {

const onnx::OpSchema& schema_of(const void* schema) {
  return *static_cast<const onnx::OpSchema*>(schema);
}

}  // namespace

OperatorSchema::OperatorSchema(const std::string& op_type, std::int64_t opset)
    : schema_(onnx::OpSchemaRegistry::Schema(op_type, static_cast<int>(opset), "")) {
  if (schema_ != nullptr && schema_of(schema_).deprecated()) schema_ = nullptr;
}

bool OperatorSchema::has_attribute(const std::string& name) const {
  return schema_of(schema_).attributes().contains(name);
}

}  // namespace qtool
