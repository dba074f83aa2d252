#include "overwrite_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <system_error>
#include <unordered_set>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"

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

}  // namespace qtool::tool
