#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/signal_mask.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

using FileInfo = struct ::stat;

// Names of temporary files have a fixed length, so that a long file name cannot make them too long.
constexpr std::string_view kTemporaryHead = ".qtool-";
constexpr std::string_view kTemporaryTail = ".tmp";
constexpr std::string_view kAsideTail = ".old";

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  throw Error(ErrorCode::kIo, to_text("file '", path.string(), "': cannot be written: ", why));
}

std::optional<FileInfo> info_of(const fs::path& path) {
  FileInfo info = {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info;
}

bool same_inode(const FileInfo& a, const FileInfo& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_null_device(const FileInfo& info) {
  const std::optional<FileInfo> null = info_of("/dev/null");
  return S_ISCHR(info.st_mode) && null && info.st_rdev == null->st_rdev;
}

/// The place where the bytes for a path are written.
struct Target {
  fs::path path;                ///< symbolic links followed
  std::optional<FileInfo> old;  ///< the file that exists already
  bool discard = false;         ///< the null device: nothing is written

  [[nodiscard]] fs::path folder() const {
    const fs::path parent = path.parent_path();
    return parent.empty() ? fs::path(".") : parent;
  }
};

fs::path follow_links(const fs::path& path) {
  constexpr int kMaxLinks = 40;  // the system's own limit
  fs::path target = path;
  std::error_code ec;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, ec)); ++links) {
    if (links == kMaxLinks) refuse(path, "there are too many symbolic links");
    const fs::path next = fs::read_symlink(target, ec);
    if (ec) refuse(path, ec.message());
    target = target.parent_path() / next;  // `next` itself if that is absolute
  }
  return target;
}

/// Throws Error(kIo) when nothing can be written at `path`.
Target find_target(const fs::path& path) {
  Target target;
  target.old = info_of(path);
  if (target.old && S_ISDIR(target.old->st_mode)) refuse(path, "it is a folder");
  if (target.old && is_null_device(*target.old)) {
    target.discard = true;
    return target;
  }
  if (target.old && !S_ISREG(target.old->st_mode)) {
    refuse(path, "it is a pipe, a socket or a device, expected a file");
  }
  target.path = follow_links(path);
  if (!target.path.has_filename()) refuse(path, "it names a folder");
  const fs::path folder = target.folder();
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    refuse(path, to_text("there is no folder '", folder.string(), "'"));
  }
  // The names below /proc/self/fd are links too, but a rename cannot replace the files that they
  // point to.
  const std::optional<FileInfo> found = info_of(target.path);
  if (target.old.has_value() != found.has_value() || (found && !same_inode(*found, *target.old))) {
    refuse(path, "it is not the name of a file");
  }
  if (found && ::access(target.path.c_str(), W_OK) != 0) {
    refuse(path, to_text("the file that is there is protected: ", std::strerror(errno)));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(path, std::strerror(errno));
  return target;
}

/// Removes temporary files of this user that no living process holds. A writer holds the lock of
/// its file for as long as the file has no final name, and the system drops the lock of a killed
/// process.
void collect_leftovers(const fs::path& folder) {
  std::error_code ec;
  for (fs::directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kTemporaryHead) || !name.ends_with(kTemporaryTail)) continue;
    const Descriptor file(
        ::open(entry->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    FileInfo info = {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

std::string random_name(std::string_view tail) {
  std::random_device random;
  const std::uint64_t bits = (std::uint64_t{random()} << 32U) | random();
  return to_text(kTemporaryHead, to_hex(bits), tail);
}

bool syncs(int descriptor) {
  // A file system that does not support fsync() reports one of these errors.
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
}

/// A file that is written under a temporary name beside its path, then renamed.
class Staged {
 public:
  Staged(const OutputFile& output, Target target)
      : named_(output.path), target_(std::move(target)) {
    if (target_.discard) return;
    create();
    try {
      write(output.bytes);
      keep_attributes();
      if (!syncs(file_.get())) refuse(named_, std::strerror(errno));
    } catch (...) {
      ::unlink(temporary_.c_str());
      throw;
    }
  }
  Staged(Staged&& other) noexcept
      : named_(std::move(other.named_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, fs::path())),
        file_(std::move(other.file_)),
        aside_(std::move(other.aside_)),
        published_(other.published_) {}
  Staged& operator=(Staged&&) = delete;
  ~Staged() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  /// Gives the old file, if there is one, a name that cannot be mistaken for a result.
  void set_aside() {
    if (target_.discard || !target_.old) return;
    const fs::path aside = target_.folder() / random_name(kAsideTail);
    if (::rename(target_.path.c_str(), aside.c_str()) == 0) {
      aside_ = aside;
    } else if (errno != ENOENT) {  // ENOENT: it was removed meanwhile
      refuse(named_, std::strerror(errno));
    }
  }

  /// Gives the new file its name.
  void publish() {
    if (target_.discard) return;
    if (::rename(temporary_.c_str(), target_.path.c_str()) != 0) {
      refuse(named_, std::strerror(errno));
    }
    temporary_.clear();
    published_ = true;
  }

  /// Undoes publish() and set_aside(). An old file that cannot get its name back keeps its
  /// temporary name.
  void take_back() noexcept {
    if (published_) ::unlink(target_.path.c_str());
    if (!aside_.empty()) ::rename(aside_.c_str(), target_.path.c_str());
    aside_.clear();
  }

  /// Removes the old file that was set aside.
  void forget_old() noexcept {
    if (!aside_.empty()) ::unlink(aside_.c_str());
    aside_.clear();
  }

  /// The path of the bytes before publish().
  [[nodiscard]] const fs::path& written() const { return target_.discard ? named_ : temporary_; }

 private:
  void create() {
    constexpr int kMaxAttempts = 100;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      temporary_ = target_.folder() / random_name(kTemporaryTail);
      // The system applies the process's umask.
      file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!file_.is_open()) {
        if (errno == EEXIST) continue;
        const int error = errno;
        temporary_.clear();
        refuse(named_, std::strerror(error));
      }
      // collect_leftovers() of another process may have removed the file before it was locked.
      const bool taken = ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      FileInfo info = {};
      if (!taken && ::fstat(file_.get(), &info) == 0 && info.st_nlink > 0) return;
    }
    temporary_.clear();
    refuse(named_, "no temporary file can be made beside it");
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EFBIG) {
        refuse(named_, "it would be larger than ulimit -f, or the file system, allows");
      }
      if (n < 0) refuse(named_, std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void keep_attributes() {
    if (!target_.old) return;
    const FileInfo& old = *target_.old;
    FileInfo own = {};
    if (::fstat(file_.get(), &own) != 0) refuse(named_, std::strerror(errno));
    if (own.st_uid != old.st_uid || own.st_gid != old.st_gid) {
      // Only root may change the owner; other users can set the group if they belong to it.
      if (::fchown(file_.get(), old.st_uid, old.st_gid) != 0) {
        static_cast<void>(::fchown(file_.get(), own.st_uid, old.st_gid) == 0);
      }
    }
    if (::fchmod(file_.get(), old.st_mode & 0777U) != 0) refuse(named_, std::strerror(errno));
  }

  fs::path named_;
  Target target_;
  fs::path temporary_;
  Descriptor file_;
  fs::path aside_;  // where the old file is while the new ones get their names
  bool published_ = false;
};

// The old files are set aside before the first new one gets its name, so that old and new ones
// never stand side by side, whatever ends the program. SIGKILL or a loss of power between two
// renames leaves some names without a file, but no content is lost. A single file is replaced by
// one rename.
void publish_all(std::vector<Staged>& staged) {
  const SignalsHeldBack held_back;
  try {
    if (staged.size() > 1) {
      for (Staged& file : staged) file.set_aside();
    }
    for (Staged& file : staged) file.publish();
  } catch (...) {
    for (Staged& file : staged) file.take_back();
    throw;
  }
  for (Staged& file : staged) file.forget_old();
}

}  // namespace

void write_files(std::span<const OutputFile> files, const FileCheck& check) {
  std::vector<Target> targets;
  std::set<fs::path> folders;
  for (const OutputFile& file : files) {
    targets.push_back(find_target(file.path));
    if (!targets.back().discard) folders.insert(targets.back().folder());
  }
  for (const fs::path& folder : folders) collect_leftovers(folder);
  std::vector<Staged> staged;
  staged.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) staged.emplace_back(files[i], targets[i]);
  if (check) {
    std::vector<fs::path> written;
    for (const Staged& file : staged) written.push_back(file.written());
    check(written);
  }
  publish_all(staged);
  // Makes the new names as durable as the contents; a folder that cannot be synced is not an error.
  for (const fs::path& folder : folders) {
    const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.is_open()) ::fsync(opened.get());
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  const OutputFile file{path, bytes};
  write_files({&file, 1});
}

bool same_file(const fs::path& a, const fs::path& b) {
  const std::optional<FileInfo> info_a = info_of(a);
  const std::optional<FileInfo> info_b = info_of(b);
  if (info_a && info_b) return same_inode(*info_a, *info_b);
  if (info_a || info_b) return false;
  std::error_code ec;
  const fs::path made_a = fs::weakly_canonical(fs::absolute(follow_links(a), ec), ec);
  return !ec && made_a == fs::weakly_canonical(fs::absolute(follow_links(b), ec), ec);
}

void require_writable(const fs::path& path) { static_cast<void>(find_target(path)); }

}  // namespace qtool
