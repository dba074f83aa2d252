#pragma once

#include <filesystem>
#include <vector>

namespace qtool {

/// What lies in a folder, sorted by name, without names that begin with a dot. The entries know
/// their types where the file system told them. Throws Error(kIo) naming the folder when it cannot
/// be read. Cost: O(n log n), one read of the folder.
std::vector<std::filesystem::directory_entry> list_folder(const std::filesystem::path& folder);

}  // namespace qtool
