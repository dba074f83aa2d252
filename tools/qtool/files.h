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

// All files of a command go through here, so that no command overwrites what it reads, under any
// name or link. A file that is declared both as input and as output is refused with Error(kUsage);
// declare outputs first, before the work.

/// Declares a file that the command reads without the functions below.
void declare_input(const std::filesystem::path& path);

/// Declares a file that the command will write. Also throws Error(kIo) when it cannot be written,
/// and Error(kUsage) when standard output or error go there, or when another output does.
void declare_output(const std::filesystem::path& path);

/// The same of a folder that gets files of its own. Throws Error(kUsage) unless it is absent or
/// empty: nothing in it is ever replaced.
void declare_output_folder(const std::filesystem::path& folder);

/// Forgets what was declared: a step of a command may read what the step before it wrote.
void begin_step();

/// read_file() of an input.
std::string read_input(const std::filesystem::path& path, std::int64_t max_bytes);

/// load_onnx() of an input and of the files that hold its weights.
Graph load_model(const std::filesystem::path& path);

/// list_images() of inputs: the list and every image.
ImageSet list_input_images(const std::filesystem::path& path, std::span<const std::string> labels);

/// list_tensors() of inputs for `graph`: the list and every file. Throws Error(kUsage) where
/// `reading` says how audio is cut and there is none.
TensorSet list_input_tensors(const std::filesystem::path& path, const Graph& graph,
                             std::int64_t limit = 0, const TensorReading& reading = {});

/// read_labels() of an input.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

/// write_files() of outputs, and a note for each.
void write_outputs(std::span<const OutputFile> files, const FileCheck& check = {});

/// The next call of write_outputs() only keeps its files in memory, where read_input() finds them;
/// the one after it writes them with its own, all or none. So what two steps of a command make
/// belongs together whenever the command ends.
void hold_next_outputs();

/// Writes what is held, if there is anything.
void write_held_outputs();

/// The default path of a result: in the current folder, the name of the model, the target if it is
/// not the default one, and `ending`: `model.tensorrt.int8.onnx`.
std::string default_output(const std::filesystem::path& model, const std::string& target,
                           const std::string& ending);

}  // namespace qtool::tool
