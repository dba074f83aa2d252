#include "qtool/graph/model_format.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

#define QTOOL_MODEL_FORMAT(name) ModelFormat model_format_##name();
#include "graph/model_format/model_formats.inc"

namespace {

const ModelFormat* format_by_ending(std::string_view path) {
  const auto formats = model_formats();
  const std::string lower = to_lower(std::string(path));
  const auto found = std::ranges::find_if(
      formats, [&](const ModelFormat& format) { return lower.ends_with(format.ending); });
  return found == formats.end() ? nullptr : &*found;
}

const ModelFormat& format_to_load(std::string_view path, std::string_view bytes) {
  for (const ModelFormat& format : model_formats()) {
    if (format.recognises != nullptr && format.recognises(bytes)) return format;
  }
  const ModelFormat* format = format_by_ending(path);
  return format != nullptr ? *format : model_formats().front();
}

}  // namespace

std::span<const ModelFormat> model_formats() {
  static const std::vector<ModelFormat> all = {
#define QTOOL_MODEL_FORMAT(name) model_format_##name(),
#include "graph/model_format/model_formats.inc"
  };
  return all;
}

std::string model_format_names() {
  std::vector<std::string> names;
  for (const ModelFormat& format : model_formats()) names.emplace_back(format.name);
  return alternatives(names);
}

std::string model_endings() {
  std::string all;
  for (const ModelFormat& format : model_formats()) {
    all += to_text(all.empty() ? "" : ", ", format.ending);
  }
  return all;
}

bool is_model(const std::filesystem::path& path) {
  return format_by_ending(path.native()) != nullptr;
}

const ModelFormat& format_to_save(const std::filesystem::path& path) {
  const ModelFormat* format = format_by_ending(path.native());
  if (format == nullptr) return model_formats().front();
  if (format->save == nullptr) {
    throw Error(ErrorCode::kUsage, to_text("output '", path.string(), "': models of ", format->name,
                                           " are only read, expected the name of a file of ",
                                           model_formats().front().name));
  }
  return *format;
}

Graph load_model_file(const std::filesystem::path& path,
                      std::vector<std::filesystem::path>& data_files, const StopCheck& stop) {
  return format_to_load(path.native(), read_beginning(path, kMarkBytes))
      .load(path, data_files, stop);
}

Graph load_model_files(const ModelFiles& files, std::string_view name, const StopCheck& stop) {
  return format_to_load(name, std::string_view(files.model).substr(0, kMarkBytes))
      .load_files(files, name, stop);
}

std::filesystem::path data_file_of(const std::filesystem::path& model) {
  std::filesystem::path file = model;
  file += ".data";
  return file;
}

}  // namespace qtool
