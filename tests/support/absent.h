#pragma once

#include <filesystem>
#include <string>

#include "support/places.h"

namespace qtool {

/// The reason for skipping a test that reads `path`, which does not exist. The summary of a run has
/// one line per reason. So if the whole folder is missing, the reason names only the folder and not
/// the file in it.
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
