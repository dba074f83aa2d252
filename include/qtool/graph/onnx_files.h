#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

// Models whose weights lie in a second file next to the model file. Models of more than 2 GiB need
// such a file.
namespace qtool {

/// A model file and its second file with weights, both in memory.
struct OnnxFiles {
  std::string model;
  std::string data;       ///< empty: all weights are in the model
  std::string data_name;  ///< name of the second file, in the model's folder
};

/// Where constants of at least kMinDataBytes are stored.
enum class DataPlace : std::uint8_t {
  kWhereNeeded,  ///< in the model; in the second file if the model would exceed 2 GiB
  kSecondFile,
};
inline constexpr std::int64_t kMinDataBytes = 1024;

/// Like save_onnx_bytes(), for models of any size. `data_name` is the name of the second file. Each
/// constant in it begins at a multiple of 4096 bytes, so that readers can map it. Throws
/// Error(kUnsupported) if the model exceeds 2 GiB even without these constants.
OnnxFiles save_onnx_files(const Graph& graph, std::string data_name,
                          DataPlace place = DataPlace::kWhereNeeded);

/// Like load_onnx_bytes(), with the weights of the second file. No other file is read.
Graph load_onnx_files(const OnnxFiles& files, std::string_view name, const StopCheck& stop = {});

/// The path of a model's second file: `model.onnx.data` for `model.onnx`.
std::filesystem::path data_file_of(const std::filesystem::path& model);

}  // namespace qtool
