#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace qtool {

/// Reads a whole file of at most `max_bytes` bytes. Throws Error(kIo) naming the path when it
/// cannot be opened, is not a regular file, or is larger.
std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes);

/// Writes `bytes` to a temporary file beside `path`, then renames it over `path`, so that a reader
/// or a crash never sees half a file. Throws Error(kIo); the old file is then untouched.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Throws Error(kIo) when write_file(path) is bound to fail: no such folder, or no right to write
/// there. For commands that work long before they write.
void require_writable(const std::filesystem::path& path);

/// `relative` resolved inside `folder`. Throws Error(kInvalidModel) when the result, symbolic links
/// followed, lies outside `folder`, or when `relative` is absolute or holds a NUL.
std::filesystem::path resolve_inside(const std::filesystem::path& folder,
                                     const std::filesystem::path& relative);

}  // namespace qtool
