#include "base/folder.h"

#include <algorithm>
#include <system_error>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace fs = std::filesystem;

std::vector<fs::directory_entry> list_folder(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code ec;
  fs::directory_iterator it(folder, ec);
  for (; !ec && it != fs::directory_iterator(); it.increment(ec)) {
    if (!it->path().filename().string().starts_with('.')) entries.push_back(*it);
  }
  if (ec) {
    throw Error(ErrorCode::kIo,
                to_text("folder '", folder.string(), "' cannot be read: ", ec.message()));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace qtool
