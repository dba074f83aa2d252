#include "graph/onnx/schema.h"

#include "graph/onnx/defs.h"

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

std::int64_t OperatorSchema::since() const noexcept {
  return schema_ == nullptr ? 0 : schema_of(schema_).since_version();
}

bool OperatorSchema::has_attribute(const std::string& name) const {
  return schema_of(schema_).attributes().contains(name);
}

bool OperatorSchema::is_default(const std::string& name, const Attribute& value) const {
  if (!exists() || !has_attribute(name)) return false;
  const onnx::AttributeProto& standard = schema_of(schema_).attributes().at(name).default_value;
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return standard.type() == onnx::AttributeProto::INT && standard.i() == *number;
  }
  if (const auto* real = std::get_if<float>(&value)) {
    return standard.type() == onnx::AttributeProto::FLOAT && standard.f() == *real;
  }
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && standard.type() == onnx::AttributeProto::STRING &&
         standard.s() == *text;
}

}  // namespace qtool
