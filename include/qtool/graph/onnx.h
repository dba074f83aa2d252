#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Reads an ONNX model of at most 2 GiB. Weights in other files are read when these lie in the
/// model's folder. Constants may be listed as inputs too; nodes may be in any order; any opset and
/// any IR version load. Nothing is folded, upgraded or renamed.
/// Throws Error(kIo) when a file cannot be read, Error(kInvalidModel) when the model contradicts
/// itself or its data do not fill its shapes, Error(kUnsupported) naming the node or tensor for
/// strings, sequences, sparse tensors, subgraphs and model-local functions. Untrusted files are
/// safe: every size is compared with the bytes present before memory is taken. Throws
/// Error(kCancelled) when `stop` says so.
Graph load_onnx(const std::filesystem::path& path, const StopCheck& stop = {});

/// The same; also adds to `data_files` the other files that hold weights, each once.
Graph load_onnx(const std::filesystem::path& path, std::vector<std::filesystem::path>& data_files,
                const StopCheck& stop = {});

/// The same for a model in memory. `folder` holds its external data, `name` stands for the file in
/// messages.
Graph load_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder,
                      std::string_view name, const StopCheck& stop = {});

/// The tensor of a file that holds one TensorProto, weights inside. `what` begins its messages.
/// Throws Error(kInvalidArgument) for other bytes, before memory is taken for what they claim, and
/// Error(kUnsupported) for strings, segments and data in other files.
Tensor read_tensor_proto(std::string_view bytes, std::string_view what);

/// The graph as an ONNX file, weights inside. Equal graphs give equal bytes. Opsets and metadata
/// are those of `graph.info`, but ONNX's own opset is raised to the oldest that has all of the
/// graph's operators; the IR version is 8. Throws Error(kUnsupported) above 2 GiB, where
/// protobuf ends.
std::string save_onnx_bytes(const Graph& graph);

/// Writes save_onnx_bytes() so that no reader ever sees half a file. Throws Error(kIo).
void save_onnx(const Graph& graph, const std::filesystem::path& path);

/// A hash of what the graph computes and how its parts are named: nodes, attributes, constants,
/// inputs, outputs and opsets. Neither metadata nor the order in which nodes and constants are
/// listed matter. A saved graph has the fingerprint of the graph. Cost: one pass over the
/// constants.
std::uint64_t fingerprint(const Graph& graph);

}  // namespace qtool
