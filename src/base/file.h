#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// Reads a whole file of at most `max_bytes` bytes. Throws Error(kIo) naming the path when it
/// cannot be opened, is not a regular file (never waits for a pipe), or is larger.
std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes);

/// A file to be written and what goes into it.
struct OutputFile {
  std::filesystem::path path;
  std::string_view bytes;
};

/// Writes all of `files` or none: each goes to a temporary file beside its path and is flushed to
/// the disk (fsync); only then are all of them renamed. A reader never sees half a file, not even
/// after a crash, and when one file cannot be written none is changed. One file is replaced by one
/// rename. Of several, old ones never stand beside new ones: the old ones are set aside before.
/// What kills the program between two renames leaves them in their folders as `.qtool-*.old`. A
/// symbolic link is followed: the file it names is written. Other hard links to a file that is
/// replaced keep the old content. A new file has the permissions that the process's umask leaves; a
/// replaced one keeps its permissions, and its owner and group where the system allows it.
/// `/dev/null` discards; every other device, pipe or folder is refused, and so is a write-protected
/// file. Temporary files (`.qtool-*.tmp`) that killed processes of the same user left in these
/// folders are removed.
/// `check`, if there is one, is called before anything is renamed, with the path of each file's
/// bytes; if it throws, no file is changed. Of what is discarded this is the null device.
/// Throws Error(kIo) naming the path, and what `check` throws.
using FileCheck = std::function<void(std::span<const std::filesystem::path> written)>;
void write_files(std::span<const OutputFile> files, const FileCheck& check = {});

/// write_files() of one file.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Throws Error(kIo) when write_file(path) cannot succeed: no such folder, not a file, or no right
/// to write there. For commands that compute for a long time before they write.
void require_writable(const std::filesystem::path& path);

/// Whether two paths name the same file, links and spellings resolved. For files that do not exist
/// yet: whether writing to both would create one file. Throws Error(kIo) for cyclic links.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// `relative` resolved inside `folder`. Throws Error(kInvalidModel) when the result, symbolic links
/// followed, lies outside `folder`, or when `relative` is absolute or holds a NUL.
std::filesystem::path resolve_inside(const std::filesystem::path& folder,
                                     const std::filesystem::path& relative);

}  // namespace qtool
