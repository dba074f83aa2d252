#pragma once

#include <filesystem>
#include <string>

#include "support/places.h"

namespace qtool {

/// Why a test is skipped that reads `path`, which does not exist. The summary of a run has one line
/// per reason, so the reason is the folder that is missing as a whole, whatever the test wants of
/// it.
inline std::string absent(const std::filesystem::path& path) {
  struct Folder {
    std::filesystem::path path;
    const char* name;
  };
  const Folder folders[] = {{kSharedData, "../shared"},
                            {kOnnxTestData, "the test data of ONNX (Debian: libonnx-testdata)"}};
  for (const Folder& folder : folders) {
    const std::filesystem::path inside = path.lexically_relative(folder.path);
    if (inside.empty() || *inside.begin() == "..") continue;
    if (!std::filesystem::exists(folder.path)) return std::string(folder.name) + " is absent";
    return std::string(folder.name) + " has no " + inside.string();
  }
  return path.string() + " is absent";
}

}  // namespace qtool
