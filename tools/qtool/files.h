#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "qtool/graph/graph.h"
#include "qtool/image/image.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

// All files of a command go through these functions, so that no command overwrites a file that it
// reads, under any name or link. A file that is declared both as input and as output is refused
// with Error(kUsage); declare outputs first, before the work.

/// Declares a file that the command reads without the functions below.
void declare_input(const std::filesystem::path& path);

/// Declares a file that the command will write. Throws Error(kIo) when it cannot be written. Throws
/// Error(kUsage) also when it is the same file as standard output, standard error or another
/// output.
void declare_output(const std::filesystem::path& path);

/// Declares a folder into which the command will write files. Throws Error(kUsage) unless the
/// folder is absent or empty: files in it are never replaced.
void declare_output_folder(const std::filesystem::path& folder);

/// Declares an input and reads it as read_file() does.
std::string read_input(const std::filesystem::path& path, std::int64_t max_bytes);

/// Declares a model and the files that hold its weights, and loads it as load_model_file() does.
Graph load_model(const std::filesystem::path& path);

/// Lists images as list_images() does, and declares the list and every image.
ImageSet list_input_images(const std::filesystem::path& path, std::span<const std::string> labels);

/// Lists tensors for `graph` as list_tensors() does, and declares the list and every file. Throws
/// Error(kUsage) when `reading` says how audio is cut but no file is audio.
TensorSet list_input_tensors(const std::filesystem::path& path, const Graph& graph,
                             std::int64_t limit = 0, const TensorReading& reading = {});

/// Declares a file of class names and reads it as read_labels() does.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

/// Declares outputs, writes them as write_files() does, and prints a note for each.
void write_outputs(std::span<const OutputFile> files, const FileCheck& check = {});

/// The default path of a result in the current folder. It consists of the name of the model, the
/// target if it is not the default one, and `ending`: `model.tensorrt.int8.onnx`.
std::string default_output(const std::filesystem::path& model, const std::string& target,
                           const std::string& ending);

}  // namespace qtool::tool
