#pragma once

#include <filesystem>
#include <vector>

namespace qtool {

/// The entries of a folder, sorted by name, without those whose name begins with a dot. An entry
/// knows its type already where the file system reported it. Throws Error(kIo) naming the folder
/// when it cannot be read. Cost: O(n log n), one read of the folder.
std::vector<std::filesystem::directory_entry> list_folder(const std::filesystem::path& folder);

}  // namespace qtool
