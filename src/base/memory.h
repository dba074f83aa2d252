#pragma once

#include <cstdint>
#include <filesystem>

namespace qtool {

/// The bytes of main memory that this process may use: the memory of the machine, or less if a
/// control group (of a container, for example) sets a limit. The value is read once.
std::int64_t physical_memory() noexcept;

/// Gives freed memory back to the system. glibc keeps pieces of up to 32 MiB that lie between
/// others. Worth its milliseconds before a phase that needs much memory. Does nothing with other
/// libraries.
void give_back_freed_memory() noexcept;

/// Asks the system for the pages of `memory` at once, before they are written. The first write to
/// each page would ask for that page alone, which costs more. Does nothing for little memory, and
/// with systems that cannot do it.
void populate(void* memory, std::int64_t bytes) noexcept;

/// The smallest memory limit among this process's control group (version 1 or 2) and its parent
/// groups; the largest int64 when there is no limit. `root` is the folder that holds the system's
/// `proc` and `sys` folders.
std::int64_t control_group_limit(const std::filesystem::path& root = "/");

}  // namespace qtool
