#include "auto/auto_files.h"

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "files.h"
#include "overwrite_check.h"

namespace qtool::tool {
namespace {

void make_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(ErrorCode::kIo,
                to_text("--output-dir '", folder, "': cannot be made: ", failure.message()));
  }
}

}  // namespace

AutoFiles files_of(const AutoCommand& options) {
  const auto path = [&](const char* ending) {
    const std::string name = default_output(options.model, options.target, ending);
    return (std::filesystem::path(options.folder) / name).string();
  };
  return {path(".table.json"), path(".int8.onnx"), path(".overrides.json")};
}

void declare_files(const AutoCommand& options, const AutoFiles& files) {
  make_folder(options.folder);
  for (const std::string& file : {files.table, files.model}) declare_output(file);
  if (!options.search.empty()) declare_output(files.overrides);
  if (!options.report.empty()) declare_output(options.report);
}

void keep_table(const Error& refusal, const AutoFiles& files, const CalibrationTable& table) {
  std::error_code failure;
  if (refusal.code() == ErrorCode::kCancelled) return;
  if (std::filesystem::exists(files.model, failure)) return;
  const std::string bytes = write_table(table);
  const OutputFile file{files.table, bytes};
  write_outputs({&file, 1});
}

}  // namespace qtool::tool
