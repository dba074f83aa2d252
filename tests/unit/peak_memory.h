#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>

#include "support/places.h"

namespace qtool {

/// The bytes that a line of /proc/self/status tells: `VmRSS` now, `VmHWM` at most, `VmSize`
/// of address space.
inline std::int64_t resident_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// By how many bytes `work` raises the memory that the process holds, at the highest. Sanitizers
/// hold up to five bytes beside each of the program's, freed ones too; with them this is a sixth of
/// what was seen.
inline std::int64_t peak_growth(const std::function<void()>& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the peak of what ran before
  const std::int64_t before = resident_bytes("VmRSS");
  work();
  constexpr std::int64_t kHeldPerByte = kSanitized ? 6 : 1;
  return std::max<std::int64_t>(resident_bytes("VmHWM") - before, 0) / kHeldPerByte;
}

}  // namespace qtool
