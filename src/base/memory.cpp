#include "base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace qtool {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Reads the limit from a file of a control group. `max`, and everything else that is not a
/// positive number, means that there is no limit.
std::int64_t limit_in(const fs::path& file) {
  std::ifstream in(file);
  std::string text;
  std::int64_t limit = kNoLimit;
  if (!std::getline(in, text)) return kNoLimit;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), limit);
  return read.ec == std::errc() && limit > 0 ? limit : kNoLimit;
}

/// The smallest limit of the group at `mount` / `group` and of its parents up to `mount`. In a
/// container, `group` may be a path of the host that does not exist here. Then only `mount` exists,
/// and it is the container's group.
std::int64_t smallest_limit(const fs::path& mount, fs::path group, const char* name) {
  std::int64_t limit = limit_in(mount / name);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    limit = std::min(limit, limit_in(mount / group / name));
  }
  return limit;
}

bool lists_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t end = controllers.find(',');
    if (controllers.substr(0, end) == "memory") return true;
    controllers.remove_prefix(end == std::string_view::npos ? controllers.size() : end + 1);
  }
  return false;
}

}  // namespace

std::int64_t control_group_limit(const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  std::int64_t limit = kNoLimit;
  // One line per hierarchy: `number:controllers:path`; version 2 names no controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      limit = std::min(limit, smallest_limit(root / "sys/fs/cgroup", group, "memory.max"));
    } else if (lists_memory(controllers)) {
      limit = std::min(
          limit, smallest_limit(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

std::int64_t physical_memory() noexcept {
  static const std::int64_t bytes = [] {
    const std::int64_t machine = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
    try {
      return std::min(machine, control_group_limit());
    } catch (...) {  // out of memory for a path: then assume no limit
      return machine;
    }
  }();
  return bytes;
}

void populate(void* memory, std::int64_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  constexpr std::int64_t kLeastBytes = 1 << 16;
  if (bytes < kLeastBytes) return;
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto space = static_cast<std::size_t>(bytes);
  if (std::align(page, page, memory, space) == nullptr) return;
  // A failure does not matter: the memory is valid without this.
  static_cast<void>(::madvise(memory, space / page * page, MADV_POPULATE_WRITE));
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

void give_back_freed_memory() noexcept {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace qtool
