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

// All files of a command go through these functions, which declare them as overwrite_check.h says.

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
