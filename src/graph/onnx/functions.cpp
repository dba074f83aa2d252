#include "graph/onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

#include "base/text.h"
#include "graph/onnx/node.h"
#include "graph/onnx/schema.h"
#include "graph/passes/passes.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr int kDefaultAttributesField = 11;  // field number in FunctionProto

std::string key_of(const std::string& domain, const std::string& name) {
  return to_text(plain_domain(domain), "\n", name);
}

// Whether an operator of ONNX's own domain means the same in both opsets.
bool is_same_operator(const std::string& op_type, std::int64_t a, std::int64_t b) {
  if (std::max(a, b) > kCanonicalOpset) return false;  // newer than the ONNX library
  return OperatorSchema(op_type, a).since() == OperatorSchema(op_type, b).since();
}

void require_same_opsets(const onnx::FunctionProto& function,
                         const std::map<std::string, std::int64_t>& opsets) {
  for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
    const std::string domain = plain_domain(import.domain());
    const auto known = opsets.find(domain);
    if (known == opsets.end() || known->second == import.version()) continue;
    for (const onnx::NodeProto& node : function.node()) {
      if (plain_domain(node.domain()) != domain) continue;
      if (domain.empty() && is_same_operator(node.op_type(), known->second, import.version())) {
        continue;
      }
      throw Error(
          ErrorCode::kUnsupported,
          to_text("function '", function.name(), "': its ", node.op_type(), " is of version ",
                  import.version(), " of operator set '", domain.empty() ? "ai.onnx" : domain,
                  "', the model imports version ", known->second));
    }
  }
}

}  // namespace

OnnxFunctions::OnnxFunctions(const onnx::ModelProto& model,
                             const std::map<std::string, std::int64_t>& opsets) {
  for (const onnx::FunctionProto& function : model.functions()) {
    if (!functions_.try_emplace(key_of(function.domain(), function.name()), &function).second) {
      throw Error(ErrorCode::kInvalidModel,
                  to_text("the model defines two functions '", function.name(), "'"));
    }
    require_same_opsets(function, opsets);
  }
}

const onnx::FunctionProto* OnnxFunctions::find(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key_of(node.domain(), node.op_type()));
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function) {
  std::vector<onnx::AttributeProto> defaults;
  const google::protobuf::UnknownFieldSet& fields = function.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    const bool listed = field.number() == kDefaultAttributesField &&
                        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (!listed) continue;
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(field.length_delimited())) {
      throw Error(ErrorCode::kInvalidModel,
                  to_text("function '", function.name(), "': a default attribute is broken"));
    }
    defaults.push_back(std::move(attribute));
  }
  return defaults;
}

}  // namespace qtool
