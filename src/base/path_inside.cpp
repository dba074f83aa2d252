#include "base/path_inside.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace fs = std::filesystem;

fs::path resolve_inside(const fs::path& folder, const fs::path& relative) {
  const auto refuse = [&] {
    throw Error(ErrorCode::kInvalidModel, to_text("path '", relative.string(),
                                                  "' leaves the folder '", folder.string(), "'"));
  };
  if (relative.empty() || relative.is_absolute() ||
      relative.native().find('\0') != std::string::npos) {  // a NUL would end the path
    refuse();
  }
  std::error_code ec;
  const fs::path root = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, ec);
  const fs::path resolved = fs::weakly_canonical(root / relative, ec);
  if (ec) refuse();
  const auto mismatch = std::mismatch(root.begin(), root.end(), resolved.begin(), resolved.end());
  if (mismatch.first != root.end()) refuse();
  return resolved;
}

}  // namespace qtool
