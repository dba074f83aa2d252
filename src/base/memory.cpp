#include "base/memory.h"

#include <unistd.h>

namespace qtool {

std::int64_t physical_memory() noexcept {
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

}  // namespace qtool
