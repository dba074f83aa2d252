#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>

#include "support/places.h"

namespace qtool {

/// The bytes that a line of /proc/self/status gives: `VmRSS` is the memory held now, `VmHWM` is its
/// peak, `VmSize` is the address space.
inline std::int64_t resident_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// The number of bytes by which `work` raises the memory of the process at its peak. Sanitizers
/// hold up to five more bytes for each byte of the program, even for freed bytes; with them the
/// result is a sixth of the measured growth.
inline std::int64_t peak_growth(const std::function<void()>& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the peak of what ran before
  const std::int64_t before = resident_bytes("VmRSS");
  work();
  constexpr std::int64_t kHeldPerByte = kSanitized ? 6 : 1;
  return std::max<std::int64_t>(resident_bytes("VmHWM") - before, 0) / kHeldPerByte;
}

}  // namespace qtool
