#include "qtool/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

// Of a new file: all may read and write, less what the process masks.
fs::perms plain_permissions() {
  const ::mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<fs::perms>(0666U & ~mask);
}

[[noreturn]] void fail_io(const fs::path& path, std::string_view what) {
  throw Error(ErrorCode::kIo, concat("file '", path.string(), "': ", what));
}

}  // namespace

std::string read_file(const fs::path& path, std::int64_t max_bytes) {
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (!fs::exists(status)) fail_io(path, "does not exist");
  if (!fs::is_regular_file(status)) fail_io(path, "is not a regular file");
  const std::uintmax_t size = fs::file_size(path, ec);
  if (ec) fail_io(path, ec.message());
  if (size > static_cast<std::uintmax_t>(max_bytes)) {
    fail_io(path, concat("has ", size, " bytes, at most ", max_bytes, " are accepted"));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_io(path, concat("cannot be opened: ", std::strerror(errno)));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (in.gcount() != static_cast<std::streamsize>(size)) fail_io(path, "ended early");
  return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
  // A symbolic link is written through, as a plain write would; a pipe or device cannot be renamed.
  std::error_code ec;
  fs::path target = path;
  if (fs::is_symlink(fs::symlink_status(path, ec))) target = fs::weakly_canonical(path, ec);
  const fs::file_status status = fs::status(target, ec);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    std::ofstream out(target, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) fail_io(path, "cannot be written");
    return;
  }
  std::string name = target.string() + ".XXXXXX.tmp";
  const int descriptor = ::mkstemps(name.data(), 4);
  if (descriptor < 0) fail_io(path, concat("cannot be created: ", std::strerror(errno)));
  const auto abandon = [&](int error) {
    ::unlink(name.c_str());
    fail_io(path, concat("cannot be written: ", std::strerror(error)));
  };
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(descriptor, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(descriptor);
      abandon(error);
    }
    written += static_cast<std::size_t>(n);
  }
  if (::close(descriptor) != 0) abandon(errno);
  // mkstemp creates 0600; give the permissions that a plain write would have given.
  fs::permissions(name, fs::exists(status) ? status.permissions() : plain_permissions(), ec);
  fs::rename(name, target, ec);
  if (ec) abandon(ec.value());
}

void require_writable(const fs::path& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) fail_io(path, "cannot be written: it is a folder");
  if (fs::exists(path, ec) && !fs::is_regular_file(path, ec)) return;  // a pipe or device
  const fs::path parent = fs::weakly_canonical(fs::absolute(path, ec), ec).parent_path();
  if (!fs::is_directory(parent, ec)) {
    fail_io(path, concat("cannot be written: there is no folder '", parent.string(), "'"));
  }
  if (::access(parent.c_str(), W_OK | X_OK) != 0) {
    fail_io(path, concat("cannot be written: ", std::strerror(errno)));
  }
}

fs::path resolve_inside(const fs::path& folder, const fs::path& relative) {
  const auto refuse = [&] {
    throw Error(ErrorCode::kInvalidModel,
                concat("path '", relative.string(), "' leaves the folder '", folder.string(), "'"));
  };
  if (relative.empty() || relative.is_absolute() ||
      relative.native().find('\0') != std::string::npos) {  // where the system would stop reading
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
