#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/arity.h"
#include "graph/obstacles.h"
#include "graph/onnx_dtype.h"
#include "graph/onnx_proto.h"
#include "graph/onnx_tensor.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

using onnx::AttributeProto;

constexpr std::int64_t kMaxFileBytes = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void fail(const std::string& message, ErrorCode code = ErrorCode::kInvalidModel) {
  throw Error(code, message);
}

// Domains and attributes that lowering uses begin with this.
constexpr std::string_view kReserved = "qtool.";

// ONNX's own operators have two spellings of their domain.
std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// Before the graph knows a node, messages name it like Graph::describe() does.
std::string describe(const onnx::NodeProto& node) {
  if (!node.name().empty()) return concat("node '", node.name(), "' (", node.op_type(), ")");
  for (const std::string& output : node.output()) {
    if (!output.empty()) return concat("node of output '", output, "' (", node.op_type(), ")");
  }
  return concat("unnamed node (", node.op_type(), ")");
}

class Loader {
 public:
  Loader(onnx::ModelProto& model, const std::filesystem::path& folder, const StopCheck& stop)
      : model_(model), tensors_(folder), stop_(stop) {}

  Graph load() {
    read_info();
    require_readable();
    read_constants();
    read_inputs();
    for (const onnx::NodeProto& node : model_.graph().node()) {
      check_stop(stop_);
      read_node(node);
    }
    require_operands(graph_);
    read_outputs();
    for (const onnx::ValueInfoProto& info : model_.graph().value_info()) {
      const auto value = graph_.find_value(info.name());
      const bool inner = value && graph_.value(*value).producer != kNoNode;
      if (inner && !graph_.is_output(*value)) declare(*value, info);
    }
    require_definitions();
    check_stop(stop_);
    graph_.sort();
    graph_.check();
    return std::move(graph_);
  }

  [[nodiscard]] const std::set<std::filesystem::path>& data_files() const {
    return tensors_.data_files();
  }

 private:
  void read_info() {
    if (!model_.has_graph()) fail("the model has no graph");
    ModelInfo& info = graph_.info;
    info.ir_version = model_.ir_version();
    info.model_version = model_.model_version();
    info.producer_name = model_.producer_name();
    info.producer_version = model_.producer_version();
    info.domain = model_.domain();
    info.doc_string = model_.doc_string();
    info.graph_name = model_.graph().name();
    for (const onnx::OperatorSetIdProto& opset : model_.opset_import()) {
      std::int64_t& version = info.opsets[plain_domain(opset.domain())];
      if (version != 0 && version != opset.version()) {
        fail(concat("the model imports two versions of operator set '", opset.domain(), "'"));
      }
      version = opset.version();
    }
    // The first two IR versions had no opset imports; opset 1 is implied.
    if (model_.opset_import_size() == 0 && info.ir_version < 3) info.opsets[""] = 1;
    if (!info.opsets.contains("")) fail("the model does not import ONNX's own operator set");
    if (info.opsets[""] < 1) {
      fail(concat("the model imports version ", info.opsets[""], " of ONNX's own operator set"));
    }
    for (const onnx::StringStringEntryProto& entry : model_.metadata_props()) {
      info.metadata[entry.key()] = entry.value();
    }
    for (const onnx::FunctionProto& function : model_.functions()) {
      functions_.insert(concat(plain_domain(function.domain()), "\n", function.name()));
    }
  }

  // Why a node cannot become one of Graph's; empty when it can.
  [[nodiscard]] std::string_view refuse(const onnx::NodeProto& node) const {
    if (functions_.contains(concat(plain_domain(node.domain()), "\n", node.op_type()))) {
      return "a function defined in the model";
    }
    for (const AttributeProto& attribute : node.attribute()) {
      const int type = type_of(attribute);
      if (type == AttributeProto::GRAPH || type == AttributeProto::GRAPHS) return "a subgraph";
      if (type == AttributeProto::SPARSE_TENSOR || type == AttributeProto::SPARSE_TENSORS) {
        return "a sparse tensor";
      }
    }
    return {};
  }

  // A model that cannot be loaded is refused with everything in it that qtool does not run.
  void require_readable() const {
    bool readable = true;
    Obstacles obstacles;
    for (const onnx::NodeProto& node : model_.graph().node()) {
      const std::string_view reason = refuse(node);
      readable = readable && reason.empty();
      const std::string domain = plain_domain(node.domain());
      if (reason.empty() && is_runnable(node.op_type(), domain)) continue;
      const bool named = !node.name().empty() || node.output_size() == 0;
      obstacles.add(node.op_type(), domain, named ? node.name() : node.output(0), reason);
    }
    if (!readable) obstacles.fail(graph_.info);
  }

  void read_constants() {
    onnx::GraphProto& graph = *model_.mutable_graph();
    if (graph.sparse_initializer_size() > 0) {
      fail(concat("initializer '", graph.sparse_initializer(0).values().name(),
                  "': is sparse, which is not supported"),
           ErrorCode::kUnsupported);
    }
    for (onnx::TensorProto& proto : *graph.mutable_initializer()) {
      check_stop(stop_);
      if (proto.name().empty()) fail("an initializer has no name");
      const std::string what = concat("initializer '", proto.name(), "'");
      graph_.add_constant(proto.name(), tensors_.read(proto, what));
      std::string().swap(*proto.mutable_raw_data());  // large models should not be held twice
    }
  }

  void read_inputs() {
    for (const onnx::ValueInfoProto& info : model_.graph().input()) {
      if (info.name().empty()) fail("a graph input has no name");
      const auto known = graph_.find_value(info.name());
      // Up to IR version 3 every initializer was an input as well.
      if (known && graph_.is_constant(*known)) continue;
      const ValueId value = graph_.add_value(info.name());
      graph_.add_input(value);
      require_tensor(info, "graph input");
      declare(value, info);
    }
  }

  void read_outputs() {
    for (const onnx::ValueInfoProto& info : model_.graph().output()) {
      const auto value = graph_.find_value(info.name());
      if (!value) fail(concat("graph output '", info.name(), "': nothing defines it"));
      if (graph_.is_output(*value)) {
        fail(concat("graph output '", info.name(), "': is listed twice"));
      }
      graph_.add_output(*value);
      require_tensor(info, "graph output");
      if (!graph_.is_constant(*value) && !graph_.is_input(*value)) declare(*value, info);
    }
    if (graph_.outputs().empty()) fail("the graph has no outputs");
  }

  static void require_tensor(const onnx::ValueInfoProto& info, std::string_view role) {
    const onnx::TypeProto& type = info.type();
    const bool other = type.value_case() != onnx::TypeProto::kTensorType &&
                       type.value_case() != onnx::TypeProto::VALUE_NOT_SET;
    if (other) {
      fail(concat(role, " '", info.name(), "': is not a tensor; other types are not supported"),
           ErrorCode::kUnsupported);
    }
    const std::int32_t element = type.tensor_type().elem_type();
    if (element != onnx::TensorProto::UNDEFINED && !dtype_of_onnx(element)) {
      fail(concat(role, " '", info.name(), "': has element type ", element,
                  " of ONNX, which is not supported"),
           ErrorCode::kUnsupported);
    }
  }

  void declare(ValueId value, const onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type()) return;
    const onnx::TypeProto::Tensor& type = info.type().tensor_type();
    std::optional<std::vector<Dim>> shape;
    if (type.has_shape()) {
      shape.emplace();
      for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
        // Some exporters write negative extents for unknown ones.
        if (dim.has_dim_value() && dim.dim_value() >= 0) {
          shape->push_back({dim.dim_value(), ""});
        } else {
          shape->push_back({std::nullopt, dim.dim_param()});
        }
      }
    }
    graph_.declare(value, dtype_of_onnx(type.elem_type()), std::move(shape));
  }

  ValueId intern(const std::string& name) {
    if (name.empty()) return kNoValue;
    const auto known = graph_.find_value(name);
    return known ? *known : graph_.add_value(name);
  }

  void read_node(const onnx::NodeProto& proto) {
    const std::string what = describe(proto);
    Node node;
    node.name = proto.name();
    node.op_type = proto.op_type();
    node.domain = plain_domain(proto.domain());
    if (node.op_type.empty()) fail(concat(what, ": names no operator"));
    // Reserved for compiled plans: operators of that domain exist only there.
    if (node.domain.starts_with(kReserved)) {
      fail(concat(what, ": domain '", node.domain, "' is reserved"));
    }
    for (const std::string& input : proto.input()) node.inputs.push_back(intern(input));
    for (const std::string& output : proto.output()) {
      const ValueId value = intern(output);
      const bool repeated = value != kNoValue && std::find(node.outputs.begin(), node.outputs.end(),
                                                           value) != node.outputs.end();
      if (repeated) fail(concat(what, ": value '", output, "' is defined twice"));
      node.outputs.push_back(value);
    }
    for (const AttributeProto& attribute : proto.attribute()) {
      if (attribute.name().starts_with(kReserved)) {
        fail(concat(what, ": attribute name '", attribute.name(), "' is reserved"));
      }
      Attribute value = read_attribute(attribute, what);
      if (!node.attributes.try_emplace(attribute.name(), std::move(value)).second) {
        fail(concat(what, ": attribute '", attribute.name(), "' is given twice"));
      }
    }
    graph_.add_node(std::move(node));
  }

  // The type field exists since IR version 2; before that, the field in use tells the type.
  static int type_of(const AttributeProto& proto) {
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

  Attribute read_attribute(const AttributeProto& proto, const std::string& node) {
    const std::string what = concat(node, ": attribute '", proto.name(), "'");
    if (!proto.ref_attr_name().empty()) {
      fail(concat(what, " refers to the attribute of a function, but is in none"));
    }
    switch (type_of(proto)) {
      case AttributeProto::FLOAT:
        return proto.f();
      case AttributeProto::INT:
        return std::int64_t{proto.i()};
      case AttributeProto::STRING:
        return proto.s();
      case AttributeProto::TENSOR:
        return std::make_shared<const Tensor>(tensors_.read(proto.t(), what));
      case AttributeProto::FLOATS:
        return std::vector<float>(proto.floats().begin(), proto.floats().end());
      case AttributeProto::INTS:
        return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
      case AttributeProto::STRINGS:
        return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      case AttributeProto::UNDEFINED:
        fail(concat(what, " has neither type nor value"));
      default:
        fail(concat(what, " is of type ", static_cast<int>(proto.type()),
                    " of ONNX, which is not supported"),
             ErrorCode::kUnsupported);
    }
  }

  void require_definitions() const {
    for (const NodeId id : graph_.nodes()) {
      for (const ValueId input : graph_.node(id).inputs) {
        if (input == kNoValue || graph_.is_input(input) || graph_.is_constant(input)) continue;
        if (graph_.value(input).producer == kNoNode) {
          fail(concat(graph_.describe(id), ": reads '", graph_.value(input).name,
                      "', which no node, input or initializer defines"));
        }
      }
    }
  }

  onnx::ModelProto& model_;
  TensorReader tensors_;
  const StopCheck& stop_;
  Graph graph_;
  std::unordered_set<std::string> functions_;
};

// Whether `bytes` begin as a model does and end within one of its fields.
bool is_cut_off(std::string_view bytes) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  constexpr int kMaxField = 25;  // of ModelProto
  constexpr std::uint32_t kVarint = 0;
  constexpr std::uint32_t kBytes = 2;
  for (int fields = 0;; ++fields) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) return false;
    if (tag >> 3U > kMaxField) return false;
    std::uint64_t number = 0;
    if ((tag & 7U) != kVarint && (tag & 7U) != kBytes) return false;
    if (!in.ReadVarint64(&number)) return fields > 0;
    if ((tag & 7U) == kVarint) continue;
    const auto left =
        static_cast<std::uint64_t>(static_cast<int>(bytes.size()) - in.CurrentPosition());
    if (number > left) return fields > 0;
    in.Skip(static_cast<int>(number));
  }
}

Graph load(std::string bytes, const std::filesystem::path& folder, std::string_view name,
           std::vector<std::filesystem::path>& data_files, const StopCheck& stop) {
  check_stop(stop);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size > kMaxFileBytes) {
    fail(concat("model '", name, "': has ", size, " bytes, at most ", kMaxFileBytes,
                " are accepted"));
  }
  const std::string_view found = bytes.empty() ? "is empty" : recognise_foreign_file(bytes);
  if (!found.empty()) fail(concat("model '", name, "' ", found, ", expected an ONNX model"));
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(size))) {
    fail(concat("model '", name,
                is_cut_off(bytes) ? "' ends early: the file is cut off, expected a whole ONNX model"
                                  : "': is not an ONNX file"));
  }
  bytes = {};  // parsing copied all of it
  try {
    Loader loader(model, folder, stop);
    Graph graph = loader.load();
    data_files.insert(data_files.end(), loader.data_files().begin(), loader.data_files().end());
    return graph;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    throw Error(error.code(), concat("model '", name, "': ", error.what()));
  }
}

}  // namespace

// ONNX's checker is not consulted: it refuses every model newer than itself, and the Loader has to
// validate what it uses anyway.
Graph load_onnx(const std::filesystem::path& path, const StopCheck& stop) {
  std::vector<std::filesystem::path> data_files;
  return load_onnx(path, data_files, stop);
}

Graph load_onnx(const std::filesystem::path& path, std::vector<std::filesystem::path>& data_files,
                const StopCheck& stop) {
  return load(read_file(path, kMaxFileBytes), path.parent_path(), path.string(), data_files, stop);
}

Graph load_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder,
                      std::string_view name, const StopCheck& stop) {
  std::vector<std::filesystem::path> data_files;
  return load(std::string(bytes), folder, name, data_files, stop);
}

}  // namespace qtool
