#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace qtool {

/// The samples of a list file: in each line a JSON object that names a file for each of `inputs`.
/// Empty lines are left out. Files come in the order of the inputs. Throws Error(kIo), and
/// Error(kUsage) naming the line.
std::vector<std::vector<std::string>> read_sample_list(const std::filesystem::path& path,
                                                       std::span<const std::string> inputs);

}  // namespace qtool
