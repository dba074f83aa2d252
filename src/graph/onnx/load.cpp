#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/obstacles.h"
#include "graph/onnx/functions.h"
#include "graph/onnx/graph_reader.h"
#include "graph/onnx/node.h"
#include "graph/onnx/proto.h"
#include "graph/onnx/tensor.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

using onnx::AttributeProto;

ModelInfo read_info(const onnx::ModelProto& model) {
  if (!model.has_graph()) refuse_model("the model has no graph");
  ModelInfo info;
  info.ir_version = model.ir_version();
  info.model_version = model.model_version();
  info.producer_name = model.producer_name();
  info.producer_version = model.producer_version();
  info.domain = model.domain();
  info.doc_string = model.doc_string();
  info.graph_name = model.graph().name();
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    std::int64_t& version = info.opsets[plain_domain(opset.domain())];
    if (version != 0 && version != opset.version()) {
      refuse_model(
          to_text("the model imports two versions of operator set '", opset.domain(), "'"));
    }
    version = opset.version();
  }
  // The first two IR versions had no opset imports; opset 1 is implied.
  if (model.opset_import_size() == 0 && info.ir_version < 3) info.opsets[""] = 1;
  if (!info.opsets.contains("")) refuse_model("the model does not import ONNX's own operator set");
  if (info.opsets[""] < 1) {
    refuse_model(
        to_text("the model imports version ", info.opsets[""], " of ONNX's own operator set"));
  }
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    info.metadata[entry.key()] = entry.value();
  }
  return info;
}

// Checks whether a model can be loaded. If not, the error names all operators in the model that
// qtool does not run.
class Readable {
 public:
  explicit Readable(const OnnxFunctions& functions) : functions_(functions) {}

  void add(const onnx::GraphProto& graph, int depth = 0) {
    if (depth > kMaxNesting) return;  // read_graph() reports it
    for (const onnx::NodeProto& node : graph.node()) add(node, depth);
  }

  void require(const ModelInfo& info) const {
    if (!readable_) obstacles_.fail(info);
  }

 private:
  void add(const onnx::NodeProto& node, int depth) {
    if (functions_.find(node) != nullptr) return;
    const std::string_view reason = refuse(node);
    readable_ = readable_ && reason.empty();
    const std::string domain = plain_domain(node.domain());
    if (!reason.empty() || !is_runnable(node.op_type(), domain)) {
      const bool named = !node.name().empty() || node.output_size() == 0;
      obstacles_.add(node.op_type(), domain, named ? node.name() : node.output(0), reason);
    }
    for (const AttributeProto& attribute : node.attribute()) {
      if (type_of(attribute) == AttributeProto::GRAPH) add(attribute.g(), depth + 1);
    }
  }

  // The reason why a node cannot become a node of a Graph; empty when it can.
  static std::string_view refuse(const onnx::NodeProto& node) {
    for (const AttributeProto& attribute : node.attribute()) {
      const int type = type_of(attribute);
      if (type == AttributeProto::GRAPHS) return "a list of subgraphs";
      if (type == AttributeProto::GRAPH && !is_run(node, attribute)) return "a subgraph";
      if (type == AttributeProto::SPARSE_TENSOR || type == AttributeProto::SPARSE_TENSORS) {
        return "a sparse tensor";
      }
    }
    return {};
  }

  const OnnxFunctions& functions_;
  bool readable_ = true;
  Obstacles obstacles_;
};

// Whether `bytes` begin like a model and end inside one of its fields.
bool is_cut_off(std::string_view bytes) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  constexpr int kMaxField = 25;  // largest field number of ModelProto
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

// Refuses bytes that begin like another format.
void refuse_foreign(std::string_view beginning, std::string_view name) {
  const std::string_view found = beginning.empty() ? "is empty" : recognise_foreign_file(beginning);
  if (found.empty()) return;
  refuse_model(to_text("model '", name, "' ", found, ", expected an ONNX model"));
}

[[noreturn]] void refuse_unreadable(std::string_view bytes, std::string_view name) {
  refuse_model(to_text("model '", name,
                       is_cut_off(bytes)
                           ? "' ends early: the file is cut off, expected a whole ONNX model"
                           : "': is not an ONNX file"));
}

onnx::ModelProto parse(std::string_view bytes, std::string_view name) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size > kMaxMessageBytes) {
    refuse_model(to_text("model '", name, "': has ", size, " bytes, at most ", kMaxMessageBytes,
                         " are accepted"));
  }
  refuse_foreign(bytes, name);
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(size))) refuse_unreadable(bytes, name);
  return model;
}

// Parses a file piece by piece, because a copy of the whole file costs time and memory.
onnx::ModelProto parse_file(const std::filesystem::path& path) {
  constexpr int kPiece = 1 << 18;
  const std::string name = path.string();
  const OpenFile file = open_file(path, kMaxMessageBytes);
  google::protobuf::io::FileInputStream stream(file.descriptor.get(), kPiece);
  const void* beginning = nullptr;
  int size = 0;
  if (stream.Next(&beginning, &size)) {
    refuse_foreign({static_cast<const char*>(beginning), static_cast<std::size_t>(size)}, name);
    stream.BackUp(size);
  } else if (stream.GetErrno() == 0) {
    refuse_foreign({}, name);
  }
  onnx::ModelProto model;
  const bool parsed = model.ParseFromZeroCopyStream(&stream);
  if (parsed && stream.GetErrno() == 0 && stream.ByteCount() == file.size) return model;
  // The stream takes an error, or a file that has become shorter, for the end of the file.
  const std::string bytes = read_file(path, kMaxMessageBytes);
  if (!parsed) refuse_unreadable(bytes, name);
  return parse(bytes, name);
}

Graph read_model(onnx::ModelProto model, TensorReader& tensors, std::string_view name,
                 const StopCheck& stop) {
  try {
    const ModelInfo info = read_info(model);
    const OnnxFunctions functions(model, info.opsets);
    Readable readable(functions);
    readable.add(model.graph());
    readable.require(info);
    ModelParts parts{tensors, functions, stop};
    return read_graph(*model.mutable_graph(), info, parts);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    throw Error(error.code(), to_text("model '", name, "': ", error.what()));
  }
}

}  // namespace

// ONNX's checker is not used: it refuses every model that is newer than the checker, and the loader
// has to validate everything that it uses anyway.
Graph load_onnx(const std::filesystem::path& path, const StopCheck& stop) {
  std::vector<std::filesystem::path> data_files;
  return load_onnx(path, data_files, stop);
}

Graph load_onnx(const std::filesystem::path& path, std::vector<std::filesystem::path>& data_files,
                const StopCheck& stop) {
  TensorReader tensors(path.parent_path());
  check_stop(stop);
  Graph graph = read_model(parse_file(path), tensors, path.string(), stop);
  data_files.insert(data_files.end(), tensors.data_files().begin(), tensors.data_files().end());
  return graph;
}

Graph load_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder,
                      std::string_view name, const StopCheck& stop) {
  TensorReader tensors(folder);
  check_stop(stop);
  return read_model(parse(bytes, name), tensors, name, stop);
}

Graph load_onnx_files(const ModelFiles& files, std::string_view name, const StopCheck& stop) {
  TensorReader tensors(files.data_name, files.data);
  check_stop(stop);
  return read_model(parse(files.model, name), tensors, name, stop);
}

}  // namespace qtool
