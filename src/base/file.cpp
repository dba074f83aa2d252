#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/descriptor.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail_io(const fs::path& path, std::string_view what) {
  throw Error(ErrorCode::kIo, to_text("file '", path.string(), "': ", what));
}

std::string read_bytes(const OpenFile& file, std::int64_t count, const fs::path& path) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(file.descriptor.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io(path, to_text("cannot be read: ", std::strerror(errno)));
    if (n == 0) fail_io(path, "ended early");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace

OpenFile open_file(const fs::path& path, std::int64_t max_bytes) {
  // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
  OpenFile file{Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))};
  if (!file.descriptor.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) fail_io(path, "does not exist");
    fail_io(path, to_text("cannot be opened: ", std::strerror(errno)));
  }
  struct ::stat info = {};
  if (::fstat(file.descriptor.get(), &info) != 0) fail_io(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail_io(path, "is not a regular file");
  file.size = info.st_size;
  if (file.size > max_bytes) {
    fail_io(path, to_text("has ", file.size, " bytes, at most ", max_bytes, " are accepted"));
  }
  return file;
}

std::string read_file(const fs::path& path, std::int64_t max_bytes) {
  const OpenFile file = open_file(path, max_bytes);
  return read_bytes(file, file.size, path);
}

std::string read_beginning(const fs::path& path, std::int64_t max_bytes) {
  const OpenFile file = open_file(path, std::numeric_limits<std::int64_t>::max());
  return read_bytes(file, std::min(file.size, max_bytes), path);
}

}  // namespace qtool
