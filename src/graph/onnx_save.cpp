#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "graph/onnx_dtype.h"
#include "graph/onnx_proto.h"
#include "graph/onnx_tensor.h"
#include "graph/passes.h"
#include "graph/subgraphs.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

using onnx::AttributeProto;

// Version 8 is the newest that ONNX 1.12 knows, and every current reader accepts it.
constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kMaxFileBytes = std::numeric_limits<std::int32_t>::max();

void write_value(const Value& value, onnx::ValueInfoProto& proto) {
  proto.set_name(value.name);
  if (!value.dtype && !value.shape) return;
  onnx::TypeProto::Tensor& type = *proto.mutable_type()->mutable_tensor_type();
  if (value.dtype) type.set_elem_type(onnx_of_dtype(*value.dtype));
  if (!value.shape) return;
  onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (const Dim& dim : *value.shape) {
    onnx::TensorShapeProto::Dimension& out = *shape.add_dim();
    if (dim.size) {
      out.set_dim_value(*dim.size);
    } else if (!dim.symbol.empty()) {
      out.set_dim_param(dim.symbol);
    }
  }
}

void write_attribute(const std::string& name, const Attribute& attribute, AttributeProto& proto) {
  proto.set_name(name);
  const auto write = [&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::int64_t>) {
      proto.set_type(AttributeProto::INT);
      proto.set_i(value);
    } else if constexpr (std::is_same_v<T, float>) {
      proto.set_type(AttributeProto::FLOAT);
      proto.set_f(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      proto.set_type(AttributeProto::STRING);
      proto.set_s(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      proto.set_type(AttributeProto::INTS);
      for (const std::int64_t item : value) proto.add_ints(item);
    } else if constexpr (std::is_same_v<T, std::vector<float>>) {
      proto.set_type(AttributeProto::FLOATS);
      for (const float item : value) proto.add_floats(item);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      proto.set_type(AttributeProto::STRINGS);
      for (const std::string& item : value) proto.add_strings(item);
    } else if constexpr (std::is_same_v<T, SubgraphPtr>) {
      proto.set_type(AttributeProto::GRAPH);  // write_graph() writes it
    } else {
      proto.set_type(AttributeProto::TENSOR);
      write_tensor(*value, *proto.mutable_t());
    }
  };
  std::visit(write, attribute);
}

void write_info(const ModelInfo& info, onnx::ModelProto& model) {
  model.set_ir_version(kIrVersion);
  model.set_producer_name(info.producer_name);
  model.set_producer_version(info.producer_version);
  model.set_domain(info.domain);
  model.set_model_version(info.model_version);
  model.set_doc_string(info.doc_string);
  for (const auto& [domain, version] : info.opsets) {
    onnx::OperatorSetIdProto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  for (const auto& [key, value] : info.metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
}

void write_node(const Graph& graph, const Node& node, onnx::NodeProto& proto) {
  proto.set_name(node.name);
  proto.set_op_type(node.op_type);
  proto.set_domain(node.domain);
  for (const ValueId input : std::span(node.inputs).first(node.own_inputs())) {
    proto.add_input(input == kNoValue ? "" : graph.value(input).name);
  }
  for (const ValueId output : node.outputs) {
    proto.add_output(output == kNoValue ? "" : graph.value(output).name);
  }
  for (const auto& [name, attribute] : node.attributes) {
    write_attribute(name, attribute, *proto.add_attribute());
  }
}

// Writes the last one of `scopes`, a graph and those around it, the outermost first. It has
// `inputs` of its own; what it captures has none in a file.
void write_graph(const std::vector<const Graph*>& scopes, std::size_t inputs,
                 onnx::GraphProto& proto) {
  const Graph& graph = *scopes.back();
  for (const ValueId id : graph.living_values()) {
    const Value& value = graph.value(id);
    if (value.constant == nullptr) continue;
    onnx::TensorProto& tensor = *proto.add_initializer();
    tensor.set_name(value.name);
    write_tensor(*value.constant, tensor);
  }
  for (const ValueId id : std::span(graph.inputs()).first(inputs)) {
    write_value(graph.value(id), *proto.add_input());
  }
  for (const ValueId id : graph.outputs()) write_value(graph.value(id), *proto.add_output());
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    onnx::NodeProto& written = *proto.add_node();
    write_node(graph, node, written);
    for (const ValueId output : node.outputs) {
      if (output == kNoValue || graph.is_output(output)) continue;
      const Value& value = graph.value(output);
      // ONNX's checker demands a type wherever there is a shape.
      if (value.dtype) write_value(value, *proto.add_value_info());
    }
    if (!node.has_subgraphs()) continue;
    for (const SubgraphUse& use : subgraphs_of(graph, id)) {
      const Graph body = name_as_in_file(use, scopes);
      std::vector<const Graph*> inner = scopes;
      inner.push_back(&body);
      const auto attribute =
          std::ranges::find(*written.mutable_attribute(), use.attribute, &AttributeProto::name);
      attribute->mutable_g()->set_name(std::string(use.attribute));
      write_graph(inner, body.inputs().size() - use.captured.size(), *attribute->mutable_g());
    }
  }
}

std::uint64_t bytes_of_constants(const Graph& graph) {
  std::uint64_t bytes = 0;
  for (const ValueId id : graph.living_values()) {
    if (!graph.is_constant(id)) continue;
    bytes += static_cast<std::uint64_t>(graph.value(id).constant->bytes());
  }
  for (const NodeId id : graph.nodes()) {
    for (const SubgraphUse& use : subgraphs_of(graph, id)) {
      bytes += bytes_of_constants(use.subgraph->graph);
    }
  }
  return bytes;
}

// Sizes are compared before protobuf copies the weights, and again when it knows the rest.
void require_size(std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(kMaxFileBytes)) {
    throw Error(ErrorCode::kUnsupported,
                concat("the model would have ", bytes, " bytes; an ONNX file holds at most ",
                       kMaxFileBytes));
  }
}

}  // namespace

std::string save_onnx_bytes(const Graph& given) {
  Graph graph = given;  // constants are shared
  raise_opset(graph);
  require_size(bytes_of_constants(graph));

  onnx::ModelProto model;
  write_info(graph.info, model);
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.info.graph_name.empty() ? "graph" : graph.info.graph_name);
  write_graph({&graph}, graph.inputs().size(), proto);
  require_size(model.ByteSizeLong());
  std::string bytes;
  if (!model.SerializeToString(&bytes)) {
    throw Error(ErrorCode::kUnsupported, "the model cannot be written as an ONNX file");
  }
  return bytes;
}

void save_onnx(const Graph& graph, const std::filesystem::path& path) {
  write_file(path, save_onnx_bytes(graph));
}

}  // namespace qtool
