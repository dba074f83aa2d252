#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace qtool {

/// Reads the samples of a list file. Each line is a JSON object that names a file for each of
/// `inputs`. Empty lines are skipped. The files of a sample are returned in the order of the
/// inputs. Throws Error(kIo) when the list cannot be read, and Error(kUsage) that names the line
/// for other errors.
std::vector<std::vector<std::string>> read_sample_list(const std::filesystem::path& path,
                                                       std::span<const std::string> inputs);

}  // namespace qtool
