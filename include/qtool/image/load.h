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

/// What a file that is no usable picture does.
enum class BadImages : std::uint8_t {
  kSkip,  ///< it is left out and reported
  kFail,  ///< it ends the work
};

struct BadImage {
  std::filesystem::path path;
  std::string reason;  ///< one sentence that names the file
  friend bool operator==(const BadImage&, const BadImage&) = default;
};

/// Reads, decodes and preprocesses one picture. A file that cannot be read, decoded or brought to
/// its size is appended to `bad` and gives nothing (kSkip), or throws its Error (kFail).
/// Each worker of calibrate() and evaluate() calls it for the next picture of the list while the
/// others infer theirs. A reader with threads and a queue of its own would only take turns with
/// them on the same cores.
std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad);

}  // namespace qtool
