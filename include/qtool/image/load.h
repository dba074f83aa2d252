#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "qtool/image/image_set.h"
#include "qtool/image/preprocess.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// What happens when a file is not a usable image.
enum class BadImages : std::uint8_t {
  kSkip,  ///< it is left out and reported
  kFail,  ///< it ends the work
};

struct BadImage {
  std::filesystem::path path;
  std::string reason;  ///< one sentence that names the file
  friend bool operator==(const BadImage&, const BadImage&) = default;
};

/// Reads, decodes and preprocesses one image. If the file cannot be read, decoded or resized, it is
/// appended to `bad` and nothing is returned (kSkip), or its Error is thrown (kFail).
/// Each worker of calibrate() and evaluate() calls it for the next image of the list while other
/// workers run the network. A separate reader thread with a queue would only compete for the same
/// cores.
std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad);

}  // namespace qtool
