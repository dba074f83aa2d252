#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace qtool {

/// Reads a whole file of at most `max_bytes` bytes. Throws Error(kIo) naming the path when it
/// cannot be opened, is not a regular file (never waits for a pipe), or is larger.
std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes);

struct OpenFile {
  Descriptor descriptor;
  std::int64_t size = 0;  ///< bytes
};

/// Opens a file of at most `max_bytes` bytes to be read. Throws as read_file() does.
OpenFile open_file(const std::filesystem::path& path, std::int64_t max_bytes);

/// The first bytes of a file, at most `max_bytes` of them. Throws as read_file() does, but not for
/// larger files.
std::string read_beginning(const std::filesystem::path& path, std::int64_t max_bytes);

/// A file to write and its content.
struct OutputFile {
  std::filesystem::path path;
  std::string_view bytes;
};

/// Writes all of `files` or none: each goes to a temporary file beside its path and is flushed to
/// the disk (fsync); only then are all of them renamed. A reader never sees half a file, not even
/// after a crash, and when one file cannot be written, no file is changed. A single file is
/// replaced by one rename. With several files, the old ones are renamed to `.qtool-*.old` before
/// the first new one gets its name, so old and new files never stand side by side. If the program
/// is killed between two renames, these old files stay in their folders. A symbolic link is
/// followed: the file it names is written. Other hard links to a file that is replaced keep the old
/// content. A new file gets the permissions that the process's umask allows; a replaced file keeps
/// its permissions, and its owner and group where the system allows it. Bytes for `/dev/null` are
/// discarded. All other devices, pipes, folders and write-protected files are refused. Temporary
/// files (`.qtool-*.tmp`) that killed processes of the same user left in these folders are removed.
/// `check`, if given, is called before any file is renamed. It gets the path where the bytes of
/// each file are at that time; for discarded bytes this is the null device. If it throws, no file
/// is changed.
/// Throws Error(kIo) naming the path, and passes on the exceptions of `check`.
using FileCheck = std::function<void(std::span<const std::filesystem::path> written)>;
void write_files(std::span<const OutputFile> files, const FileCheck& check = {});

/// Calls write_files() for one file.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Throws Error(kIo) when write_file(path) cannot succeed: no such folder, not a file, or no right
/// to write there. For commands that compute for a long time before they write.
void require_writable(const std::filesystem::path& path);

/// Whether two paths name the same file, after links and different spellings are resolved. For
/// files that do not exist yet: whether writing to both paths would create one file. Throws
/// Error(kIo) for cyclic links.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace qtool
