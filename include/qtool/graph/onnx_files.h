#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

// Models whose weights lie in a second file beside them, as those of more than 2 GiB have to.
namespace qtool {

/// A model in memory, and the file that it reads weights from.
struct OnnxFiles {
  std::string model;
  std::string data;       ///< empty: all weights are in the model
  std::string data_name;  ///< of the file, which lies in the folder of the model
};

/// Where constants of at least kMinDataBytes go.
enum class DataPlace : std::uint8_t {
  kWhereNeeded,  ///< into the model; in the second file where the model would exceed 2 GiB
  kSecondFile,
};
inline constexpr std::int64_t kMinDataBytes = 1024;

/// save_onnx_bytes() for models of any size; `data_name` is the name of the second file. Each
/// constant in it begins at a multiple of 4096 bytes, so that readers can map it. Throws
/// Error(kUnsupported) where what is left in the model exceeds 2 GiB.
OnnxFiles save_onnx_files(const Graph& graph, std::string data_name,
                          DataPlace place = DataPlace::kWhereNeeded);

/// load_onnx_bytes() of both. Nothing else is read.
Graph load_onnx_files(const OnnxFiles& files, std::string_view name, const StopCheck& stop = {});

/// The second file of a model: `model.onnx.data`.
std::filesystem::path data_file_of(const std::filesystem::path& model);

}  // namespace qtool
