#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "graph/onnx/dtype.h"
#include "graph/onnx/external_data.h"
#include "graph/onnx/four_bits.h"
#include "graph/onnx/proto.h"
#include "graph/onnx/tensor.h"
#include "graph/passes/passes.h"
#include "graph/subgraphs.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

using onnx::AttributeProto;

// Version 8 is the newest that ONNX 1.12 knows, and every current reader accepts it. Integers of 4
// bits came with version 10.
constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kIrVersionOf4Bits = 10;

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

void write_node(const Graph& graph, const Node& node, const std::set<ValueId>& packed,
                onnx::NodeProto& proto) {
  proto.set_name(node.name);
  proto.set_op_type(node.op_type);
  proto.set_domain(node.domain);
  for (const ValueId input : std::span(node.inputs).first(node.own_inputs())) {
    proto.add_input(input == kNoValue ? "" : graph.value(input).name);
  }
  for (const ValueId output : node.outputs) {
    proto.add_output(output == kNoValue ? "" : graph.value(output).name);
  }
  const bool is_packed =
      node.is("Constant") && node.has_output(0) && packed.contains(node.outputs[0]);
  for (const auto& [name, attribute] : node.attributes) {
    if (name == kBitsAttribute) continue;
    AttributeProto& written = *proto.add_attribute();
    if (is_packed && name == "value") {
      written.set_name(name);
      written.set_type(AttributeProto::TENSOR);
      write_4_bits(*node.get_tensor(name), *written.mutable_t());
    } else {
      write_attribute(name, attribute, written);
    }
  }
}

// Writes the last graph of `scopes`, which are a graph and the graphs around it, outermost first.
// `inputs` is the number of its own inputs; captured values are not inputs in a file. `data` is the
// second file, or null. Returns whether the graph has integers of 4 bits.
bool write_graph(const std::vector<const Graph*>& scopes, std::size_t inputs, DataFile* data,
                 onnx::GraphProto& proto) {
  const Graph& graph = *scopes.back();
  const std::set<ValueId> packed = four_bit_values(graph);
  bool any_packed = !packed.empty();
  for (const ValueId id : graph.living_values()) {
    const Value& value = graph.value(id);
    if (value.constant == nullptr) continue;
    onnx::TensorProto& tensor = *proto.add_initializer();
    tensor.set_name(value.name);
    packed.contains(id) ? write_4_bits(*value.constant, tensor)
                        : write_tensor(*value.constant, tensor);
    if (data != nullptr) data->take(tensor);
  }
  for (const ValueId id : std::span(graph.inputs()).first(inputs)) {
    write_value(graph.value(id), *proto.add_input());
  }
  for (const ValueId id : graph.outputs()) write_value(graph.value(id), *proto.add_output());
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    onnx::NodeProto& written = *proto.add_node();
    write_node(graph, node, packed, written);
    for (const ValueId output : node.outputs) {
      if (output == kNoValue || graph.is_output(output)) continue;
      const Value& value = graph.value(output);
      // ONNX's checker demands a type wherever there is a shape.
      if (value.dtype && !packed.contains(output)) write_value(value, *proto.add_value_info());
    }
    if (!node.has_subgraphs()) continue;
    for (const SubgraphUse& use : subgraphs_of(graph, id)) {
      const Graph body = name_as_in_file(use, scopes);
      std::vector<const Graph*> inner = scopes;
      inner.push_back(&body);
      const auto attribute =
          std::ranges::find(*written.mutable_attribute(), use.attribute, &AttributeProto::name);
      attribute->mutable_g()->set_name(std::string(use.attribute));
      const std::size_t own = body.inputs().size() - use.captured.size();
      any_packed = write_graph(inner, own, data, *attribute->mutable_g()) || any_packed;
    }
  }
  return any_packed;
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

// Sizes are compared before protobuf copies the weights, and again when protobuf knows the size of
// the whole model.
bool is_too_large(std::uint64_t bytes) {
  return bytes > static_cast<std::uint64_t>(kMaxMessageBytes);
}

void require_size(std::uint64_t bytes) {
  if (is_too_large(bytes)) {
    throw Error(ErrorCode::kUnsupported,
                to_text("the model would have ", bytes, " bytes; an ONNX file holds at most ",
                        kMaxMessageBytes));
  }
}

onnx::ModelProto model_of(const Graph& graph, DataFile* data) {
  onnx::ModelProto model;
  write_info(graph.info, model);
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.info.graph_name.empty() ? "graph" : graph.info.graph_name);
  const bool packed = write_graph({&graph}, graph.inputs().size(), data, proto);
  model.set_ir_version(packed ? kIrVersionOf4Bits : kIrVersion);
  return model;
}

std::string stored_bytes(const onnx::ModelProto& model) {
  require_size(model.ByteSizeLong());
  std::string bytes;
  if (!model.SerializeToString(&bytes)) {
    throw Error(ErrorCode::kUnsupported, "the model cannot be written as an ONNX file");
  }
  return bytes;
}

}  // namespace

std::string save_onnx_bytes(const Graph& given) {
  Graph graph = given;  // constants are shared
  raise_opset(graph);
  require_size(bytes_of_constants(graph));
  return stored_bytes(model_of(graph, nullptr));
}

ModelFiles save_onnx_files(const Graph& given, std::string data_name, DataPlace place) {
  Graph graph = given;
  raise_opset(graph);
  if (place == DataPlace::kWhereNeeded && !is_too_large(bytes_of_constants(graph))) {
    const onnx::ModelProto model = model_of(graph, nullptr);
    if (!is_too_large(model.ByteSizeLong())) {
      return {stored_bytes(model), {}, std::move(data_name)};
    }
  }
  DataFile data(data_name);
  std::string bytes = stored_bytes(model_of(graph, &data));
  return {std::move(bytes), std::move(data).bytes(), std::move(data_name)};
}

void save_onnx(const Graph& graph, const std::filesystem::path& path) {
  const std::filesystem::path data = data_file_of(path);
  const ModelFiles files = save_onnx_files(graph, data.filename().string());
  if (files.data.empty()) return write_file(path, files.model);
  const OutputFile both[] = {{path, files.model}, {data, files.data}};
  write_files(both);
}

}  // namespace qtool
