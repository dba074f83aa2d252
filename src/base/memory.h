#pragma once

#include <cstdint>

namespace qtool {

/// Bytes of main memory of this machine.
std::int64_t physical_memory() noexcept;

}  // namespace qtool
