#pragma once

#include <cstdint>
#include <filesystem>

namespace qtool {

/// Bytes of main memory that this process may use: this machine's, or fewer where a control group
/// (that of a container, say) limits it. Read once.
std::int64_t physical_memory() noexcept;

/// The smallest memory limit among this process's control group (version 1 or 2) and those above
/// it; the largest number when there is none. `root` is where the system's files lie.
std::int64_t control_group_limit(const std::filesystem::path& root = "/");

}  // namespace qtool
