#include "files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <unordered_set>

#include "base/text.h"
#include "console.h"
#include "qtool/base/error.h"
#include "qtool/graph/model_format.h"
#include "qtool/quantize/target.h"
#include "signals.h"

namespace qtool::tool {
namespace fs = std::filesystem;
namespace {

// The files of the running command. A process runs one command.
std::unordered_set<std::string> declared_inputs;  // may be a million images
std::set<fs::path> declared_outputs;

void refuse_if_same(const fs::path& output, const fs::path& input) {
  if (!same_file(output, input)) return;
  throw Error(ErrorCode::kUsage, to_text("output '", output.string(), "': would replace '",
                                         input.string(), "', which this command reads"));
}

bool is_open_as(int descriptor, const fs::path& path) {
  struct ::stat stream = {};
  struct ::stat file = {};
  return ::fstat(descriptor, &stream) == 0 && S_ISREG(stream.st_mode) &&
         ::stat(path.c_str(), &file) == 0 && file.st_dev == stream.st_dev &&
         file.st_ino == stream.st_ino;
}

}  // namespace

void declare_input(const fs::path& path) {
  for (const fs::path& output : declared_outputs) refuse_if_same(output, path);
  declared_inputs.insert(path.string());
}

void declare_output(const fs::path& path) {
  if (declared_outputs.contains(path)) return;
  for (const std::string& input : declared_inputs) refuse_if_same(path, input);
  for (const fs::path& other : declared_outputs) {
    if (!same_file(path, other)) continue;
    throw Error(ErrorCode::kUsage, to_text("outputs '", other.string(), "' and '", path.string(),
                                           "' are the same file"));
  }
  if (is_open_as(STDOUT_FILENO, path) || is_open_as(STDERR_FILENO, path)) {
    throw Error(ErrorCode::kUsage,
                to_text("output '", path.string(),
                        "': would replace the file to which this program's messages go"));
  }
  require_writable(path);
  declared_outputs.insert(path);
}

void declare_output_folder(const fs::path& folder) {
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(folder, ec))) {
    // A file of the folder's name shows whether the folder can be made. The folder takes its place
    // later.
    require_writable(folder);
    return;
  }
  if (!fs::is_directory(folder, ec)) {
    throw Error(ErrorCode::kUsage, to_text("output '", folder.string(), "': is not a folder"));
  }
  const auto first = fs::directory_iterator(folder, ec);
  if (ec) {
    throw Error(ErrorCode::kIo,
                to_text("folder '", folder.string(), "' cannot be read: ", ec.message()));
  }
  if (first != fs::directory_iterator()) {
    throw Error(ErrorCode::kUsage,
                to_text("output '", folder.string(), "': is not empty (it has '",
                        first->path().filename().string(), "'), expected a new or empty folder"));
  }
  require_writable(folder / "x");
}

std::string read_input(const fs::path& path, std::int64_t max_bytes) {
  declare_input(path);
  return read_file(path, max_bytes);
}

Graph load_model(const fs::path& path) {
  declare_input(path);
  std::vector<fs::path> data_files;
  Graph graph = load_model_file(path, data_files, interrupted);
  for (const fs::path& file : data_files) declare_input(file);
  return graph;
}

ImageSet list_input_images(const fs::path& path, std::span<const std::string> labels) {
  declare_input(path);
  ImageSet images = list_images(path, labels);
  for (const ImageEntry& image : images.entries) declare_input(image.path);
  return images;
}

TensorSet list_input_tensors(const fs::path& path, const Graph& graph, std::int64_t limit,
                             const TensorReading& reading) {
  declare_input(path);
  TensorSet tensors = list_tensors(path, input_specs(graph), limit, reading);
  bool audio = false;
  for (const std::vector<SampleArray>& row : tensors.rows) {
    for (const SampleArray& array : row) {
      if (array.path.empty()) continue;  // a state has no file
      declare_input(array.path);
      audio = audio || to_lower(array.path.extension().string()) == ".wav";
    }
  }
  if (!audio && (reading.audio.window > 0 || reading.audio.hop > 0)) {
    throw Error(ErrorCode::kUsage, to_text(reading.audio.hop > 0 ? "--hop" : "--window", ": '",
                                           path.string(), "' holds no .wav file"));
  }
  return tensors;
}

std::vector<std::string> read_class_names(const fs::path& path) {
  declare_input(path);
  return read_labels(path);
}

void write_outputs(std::span<const OutputFile> files, const FileCheck& check) {
  for (const OutputFile& file : files) declare_output(file.path);
  write_files(files, check);
  for (const OutputFile& file : files) note(to_text("wrote ", file.path.string()));
}

std::string default_output(const fs::path& model, const std::string& target,
                           const std::string& ending) {
  const std::string stem = model.stem().string();
  return target == kDefaultTarget ? to_text(stem, ending) : to_text(stem, ".", target, ending);
}

}  // namespace qtool::tool
