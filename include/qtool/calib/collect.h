#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/calib/method.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

struct TensorStatistics;  // name and statistics of one activation, in src/calib/statistics.h

/// What a network did on a set of images; any method can decide from it.
struct Collection {
  std::uint64_t model_fingerprint = 0;
  /// Path of the model, relative to the folder of the saved collection, for reading it again later.
  std::string model_path;
  std::uint64_t table_hash = 0;  ///< hash_bytes() of the table that it was saved with; 0: none
  std::uint64_t image_list_hash = 0;
  std::int64_t image_count = 0;  ///< images that were observed
  std::int64_t exact_bins = 0;   ///< bins of |x|, counted in a second pass; 0: there was none
  Outputs outputs = Outputs::kVectors;    ///< kMaps if they are feature maps for any image
  std::optional<Preprocess> preprocess;   ///< none: the samples were tensors
  std::vector<TensorStatistics> tensors;  ///< in the graph's order; opaque outside of the library
  std::vector<BadImage> bad;              ///< images left out, in the order of the list
  /// Time spent observing, summed over all threads; not saved.
  double observe_seconds = 0.0;
  std::int64_t observed_values =
      0;  ///< without concatenations, whose statistics follow from their parts

  Collection();
  Collection(const Collection&);
  Collection(Collection&&) noexcept;
  Collection& operator=(const Collection&);
  Collection& operator=(Collection&&) noexcept;
  ~Collection();
};

/// A warning when the images are valid but too few to represent others: a single image, or several
/// equal ones.
std::optional<std::string> doubtful(const Collection& collection);

inline constexpr std::int64_t kMaxStatisticsBytes = std::int64_t{1} << 30;

/// A collection as bytes (a line of JSON, then binary), from which decide() gives the same table as
/// from the collection itself, years later and without images. About 2 bytes per histogram cell
/// that is not empty. Throws Error(kInvalidTable) when a name is not UTF-8.
std::string write_collection(const Collection& collection);

/// Reads write_collection()'s bytes. Any bytes are safe: sizes are checked before memory is
/// allocated for them, and contradictions refused. Throws Error(kInvalidTable).
Collection read_collection(std::string_view bytes);

struct CollectOptions {
  std::vector<std::string> tensors;  ///< names to observe
  Preprocess preprocess;
  /// Fingerprint of the model to record; by default that of the executor's graph.
  std::optional<std::uint64_t> model_fingerprint;
  BadImages bad_images = BadImages::kSkip;
  /// Above 0: run the images twice. The second pass counts every value (Counting::all()), with |x|
  /// in this many linear bins over [0, max|x|], as tools do that need the range in advance. 0: run
  /// them once. See Statistics::magnitudes().
  std::int64_t exact_bins = 0;
  int threads = 0;    ///< images at a time; 0 = all available
  Progress progress;  ///< counts images, of each pass
};

/// Runs the images through the network and observes the named tensors.
/// Each worker decodes one image at a time, runs it with one thread and adds to its own
/// statistics, which are merged at the end. The result does not depend on the number of threads.
/// Throws Error(kUsage) when a tensor does not exist, Error(kUnsupported) when the model does not
/// have exactly one float32 image input of batch 1, Error(kMismatch) when the preprocessing makes
/// another size than the model declares, Error(kInvalidArgument) naming image and node for NaN or
/// an infinity, Error(kInvalidImage) when no image is usable (or for the first bad one), and
/// Error(kCancelled).
/// Memory: per thread one run of the network and 128 to 300 KiB per tensor, whatever the number of
/// images.
Collection collect(const Executor& executor, const Samples& samples, const CollectOptions& options);

}  // namespace qtool
