#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "support/places.h"

// Bytes of image files, for the tests of decoding.
namespace qtool {

/// A file of tests/golden/image.
inline std::string golden(const std::string& name) {
  return read_file(std::filesystem::path(kSourceFolder) / "tests/golden/image" / name, 1 << 20);
}

inline std::string big_endian(std::uint32_t value, int bytes = 4) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

}  // namespace qtool
