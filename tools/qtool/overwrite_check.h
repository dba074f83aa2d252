#pragma once

#include <filesystem>

namespace qtool::tool {

// All files of a command are declared, here or by the functions of files.h, so that no command
// overwrites a file that it reads, under any name or link. A file that is declared both as input
// and as output is refused with Error(kUsage); declare outputs first, before the work.

/// Declares a file that the command reads without the functions of files.h.
void declare_input(const std::filesystem::path& path);

/// Declares a file that the command will write. Throws Error(kIo) when it cannot be written. Throws
/// Error(kUsage) also when it is the same file as standard output, standard error or another
/// output.
void declare_output(const std::filesystem::path& path);

/// Declares a folder into which the command will write files. Throws Error(kUsage) unless the
/// folder is absent or empty: files in it are never replaced.
void declare_output_folder(const std::filesystem::path& folder);

}  // namespace qtool::tool
