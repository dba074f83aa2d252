#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"
#include "qtool/graph/model_format.h"

namespace qtool {

/// Reads an ONNX model of at most 2 GiB. Weights in other files are read if those files lie in the
/// model's folder. Constants may be listed as inputs too; nodes may be in any order; any opset and
/// any IR version load. Nothing is folded, upgraded or renamed; only a node whose name an earlier
/// node already has loses its name.
/// Throws Error(kIo) when a file cannot be read, and Error(kInvalidModel) when the model
/// contradicts itself or its data do not fill its shapes. Throws Error(kUnsupported), which names
/// the node or tensor, for tensors of strings, sequences, sparse tensors, subgraphs of operators
/// other than If, Loop and Scan, and for subgraphs or model-local functions that are nested too
/// deeply or become too large. Untrusted files are safe: every size is compared with the bytes
/// present before memory is taken. Throws Error(kCancelled) when `stop` says so.
Graph load_onnx(const std::filesystem::path& path, const StopCheck& stop = {});

/// Like load_onnx() above. It also adds the other files that hold weights to `data_files`, each
/// once.
Graph load_onnx(const std::filesystem::path& path, std::vector<std::filesystem::path>& data_files,
                const StopCheck& stop = {});

/// Like load_onnx(), for a model in memory. `folder` is the folder of its external data. Messages
/// use `name` in place of the file name.
Graph load_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder,
                      std::string_view name, const StopCheck& stop = {});

/// Reads the tensor of a file that holds one TensorProto with its data inside. Error messages begin
/// with `what`. Throws Error(kInvalidArgument) for other bytes, before memory is allocated for the
/// sizes that they claim, and Error(kUnsupported) for strings, segments and data in other files.
Tensor read_tensor_proto(std::string_view bytes, std::string_view what);

/// The bytes of an ONNX file with the graph and its weights. Equal graphs give equal bytes. Opsets
/// and metadata come from `graph.info`, except that ONNX's own opset is raised to the oldest one
/// that has all of the graph's operators. The IR version is 8, or 10 for a graph with integers of 4
/// bits. Throws Error(kUnsupported) above 2 GiB, the limit of protobuf.
std::string save_onnx_bytes(const Graph& graph);

/// Like save_onnx_bytes(), for models of any size: those of more than 2 GiB need a second file.
/// `data_name` is the name of the second file. Each constant in it begins at a multiple of 4096
/// bytes, so that readers can map it. Throws Error(kUnsupported) if the model exceeds 2 GiB even
/// without these constants.
ModelFiles save_onnx_files(const Graph& graph, std::string data_name,
                           DataPlace place = DataPlace::kWhereNeeded);

/// Like load_onnx_bytes(), with the weights of the second file. No other file is read.
Graph load_onnx_files(const ModelFiles& files, std::string_view name, const StopCheck& stop = {});

/// Writes the graph as an ONNX file. If that file would exceed 2 GiB, the weights go into a second
/// file, data_file_of(). Readers never see a partly written file. Throws Error(kIo), and
/// Error(kUnsupported) as save_onnx_files() does.
void save_onnx(const Graph& graph, const std::filesystem::path& path);

/// A hash of the graph's computation and of the names in it: nodes, attributes, constants, inputs,
/// outputs and opsets. Metadata and the order of nodes and constants do not change it. A graph that
/// is saved and loaded again has the same fingerprint. Cost: one pass over the constants.
std::uint64_t fingerprint(const Graph& graph);

}  // namespace qtool
