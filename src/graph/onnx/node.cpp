#include "graph/onnx/node.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/onnx/dtype.h"
#include "graph/rank.h"
#include "qtool/base/error.h"

namespace qtool {

using onnx::AttributeProto;

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

int type_of(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

std::string describe(const onnx::NodeProto& node) {
  if (!node.name().empty()) return to_text("node '", node.name(), "' (", node.op_type(), ")");
  for (const std::string& output : node.output()) {
    if (!output.empty()) return to_text("node of output '", output, "' (", node.op_type(), ")");
  }
  return to_text("unnamed node (", node.op_type(), ")");
}

bool is_run(const onnx::NodeProto& node, const AttributeProto& attribute) {
  if (!plain_domain(node.domain()).empty()) return false;
  const std::string& name = attribute.name();
  if (node.op_type() == "If") return name == "then_branch" || name == "else_branch";
  return (node.op_type() == "Loop" || node.op_type() == "Scan") && name == "body";
}

void require_tensor(const onnx::ValueInfoProto& info, std::string_view role) {
  const onnx::TypeProto& type = info.type();
  const bool other = type.value_case() != onnx::TypeProto::kTensorType &&
                     type.value_case() != onnx::TypeProto::VALUE_NOT_SET;
  if (other) {
    throw Error(
        ErrorCode::kUnsupported,
        to_text(role, " '", info.name(), "': is not a tensor; other types are not supported"));
  }
  const std::int32_t element = type.tensor_type().elem_type();
  if (element != onnx::TensorProto::UNDEFINED && !dtype_of_onnx(element)) {
    throw Error(ErrorCode::kUnsupported, to_text(role, " '", info.name(), "': has element type ",
                                                 element, " of ONNX, which is not supported"));
  }
}

std::optional<std::vector<Dim>> declared_shape(const onnx::ValueInfoProto& info) {
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  if (!type.has_shape()) return std::nullopt;
  if (type.shape().dim_size() > kMaxRank) {
    throw Error(ErrorCode::kUnsupported,
                to_text("value '", info.name(), "' ", too_many_axes(type.shape().dim_size())));
  }
  std::vector<Dim> shape;
  for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
    // Some exporters write a negative number for an unknown extent.
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.push_back({dim.dim_value(), ""});
    } else {
      shape.push_back({std::nullopt, dim.dim_param()});
    }
  }
  return shape;
}

Attribute read_constant(const AttributeProto& proto, std::string_view node, TensorReader& tensors) {
  if (type_of(proto) != AttributeProto::TENSOR) return read_attribute(proto, node, tensors);
  const std::string what = to_text(node, ": attribute '", proto.name(), "'");
  return std::make_shared<const Tensor>(tensors.read(proto.t(), what));
}

Attribute read_attribute(const AttributeProto& proto, std::string_view node,
                         TensorReader& tensors) {
  const std::string what = to_text(node, ": attribute '", proto.name(), "'");
  switch (type_of(proto)) {
    case AttributeProto::FLOAT:
      return proto.f();
    case AttributeProto::INT:
      return std::int64_t{proto.i()};
    case AttributeProto::STRING:
      return proto.s();
    case AttributeProto::TENSOR:
      if (holds_4_bits(proto.t())) {
        throw Error(ErrorCode::kUnsupported,
                    to_text(what, " holds integers of 4 bits, which only constants may have"));
      }
      return std::make_shared<const Tensor>(tensors.read(proto.t(), what));
    case AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case AttributeProto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case AttributeProto::UNDEFINED:
      throw Error(ErrorCode::kInvalidModel, to_text(what, " has neither type nor value"));
    default:
      throw Error(ErrorCode::kUnsupported,
                  to_text(what, " is of type ", static_cast<int>(proto.type()),
                          " of ONNX, which is not supported"));
  }
}

}  // namespace qtool
