#include "files.h"

#include "base/text.h"
#include "console.h"
#include "overwrite_check.h"
#include "qtool/base/error.h"
#include "qtool/graph/model_format.h"
#include "qtool/quantize/target.h"
#include "signals.h"

namespace qtool::tool {
namespace fs = std::filesystem;

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
