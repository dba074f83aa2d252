#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
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
std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad);

struct LoadedImage {
  std::int64_t index = 0;  ///< in ImageSet::entries
  std::int64_t label = -1;
  Tensor tensor;
};

/// Delivers the pictures of a set in order, decoded ahead on its own threads, for a consumer that
/// runs a network with the threads inside its operators. (A consumer with one picture per worker
/// calls load_preprocessed there instead.) At most `ahead` pictures are in memory
/// undelivered, those being decoded included.
class ImageLoader {
 public:
  /// `set` must outlive the loader. `threads` as resolve_threads(); `ahead` >= 1 pictures. Throws
  /// Error(kUsage) otherwise and as check().
  ImageLoader(const ImageSet& set, Preprocess preprocess, BadImages policy, int threads,
              std::int64_t ahead);
  ~ImageLoader();  ///< stops the threads after the pictures they are at
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;

  /// The next picture in the order of the list, bad ones left out; nothing after the last one. Any
  /// thread may call it. With kFail the Error of the first bad file is thrown in its turn, and
  /// again by every later call.
  std::optional<LoadedImage> next();

  /// The bad files that next() has passed, in the order of the list.
  [[nodiscard]] std::vector<BadImage> bad() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qtool
