#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A model file and its second file with weights, both in memory.
struct ModelFiles {
  std::string model;
  std::string data;       ///< empty: all weights are in the model
  std::string data_name;  ///< name of the second file, in the model's folder
};

/// Where constants of at least kMinDataBytes are stored.
enum class DataPlace : std::uint8_t {
  kWhereNeeded,  ///< in the model; in the second file if the model file would become too large
  kSecondFile,
};
inline constexpr std::int64_t kMinDataBytes = 1024;

/// A row of the list of model formats. Its functions throw what load_onnx() and save_onnx_files()
/// throw, and are safe for any bytes.
struct ModelFormat {
  std::string_view name;    ///< for messages and help texts, `ONNX`
  std::string_view ending;  ///< of file names, `.onnx`
  /// Whether a file that begins with `bytes`, at most kMarkBytes of them, has this format. No two
  /// formats accept the same file. Null for a format whose files cannot be told apart by their
  /// first bytes.
  bool (*recognises)(std::string_view bytes);
  /// Reads a file. Adds the other files that hold weights to `data_files`, each once.
  Graph (*load)(const std::filesystem::path& path, std::vector<std::filesystem::path>& data_files,
                const StopCheck& stop);
  /// Reads files in memory. Messages use `name` in place of the file name.
  Graph (*load_files)(const ModelFiles& files, std::string_view name, const StopCheck& stop);
  /// The bytes of the files. Null for a format that is only read.
  ModelFiles (*save)(const Graph& graph, std::string data_name, DataPlace place);
};

/// How many of a file's first bytes ModelFormat::recognises() gets.
inline constexpr std::int64_t kMarkBytes = 64;

/// Every format, the most usual one first: it is taken for files that no format recognises.
std::span<const ModelFormat> model_formats();

/// The names of all formats for help texts: `ONNX`, `ONNX or ncnn`.
std::string model_format_names();

/// The endings of all formats for messages: `.onnx`, `.onnx, .param`.
std::string model_endings();

/// Whether the name of a file ends like that of a model.
bool is_model(const std::filesystem::path& path);

/// The format in which a model with this name is saved, by the ending of the name. Throws
/// Error(kUsage) for a format that is only read.
const ModelFormat& format_to_save(const std::filesystem::path& path);

/// Reads a model of any format. The first bytes of the file decide, then the ending of its name.
/// Adds the other files that hold weights to `data_files`, each once. Throws what the format
/// throws.
Graph load_model_file(const std::filesystem::path& path,
                      std::vector<std::filesystem::path>& data_files, const StopCheck& stop = {});

/// Like load_model_file(), for files in memory.
Graph load_model_files(const ModelFiles& files, std::string_view name, const StopCheck& stop = {});

/// The path of a model's second file: `model.onnx.data` for `model.onnx`.
std::filesystem::path data_file_of(const std::filesystem::path& model);

}  // namespace qtool
