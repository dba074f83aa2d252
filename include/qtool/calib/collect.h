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

/// The statistics of a network's activations over a set of images. Every calibration method can
/// choose ranges from them.
struct Collection {
  std::uint64_t model_fingerprint = 0;
  /// Path of the model relative to the folder of the saved collection, so that the model can be
  /// read again later.
  std::string model_path;
  std::uint64_t table_hash = 0;  ///< hash_bytes() of the table saved with it; 0: none
  std::uint64_t image_list_hash = 0;
  std::vector<std::uint64_t> image_ids;   ///< as CalibrationTable::image_ids
  std::int64_t image_count = 0;           ///< images that were observed
  std::int64_t exact_bins = 0;            ///< bins of |x| in a second pass; 0: no second pass
  Outputs outputs = Outputs::kVectors;    ///< kMaps if any image gave a feature map
  std::optional<Preprocess> preprocess;   ///< none: the samples were tensors
  std::vector<TensorStatistics> tensors;  ///< in the graph's order; opaque outside of the library
  std::vector<BadImage> bad;              ///< images left out, in the order of the list
  /// Time spent observing, summed over all threads; not saved.
  double observe_seconds = 0.0;
  /// Concatenations are not counted, because their statistics follow from their parts.
  std::int64_t observed_values = 0;

  Collection();
  Collection(const Collection&);
  Collection(Collection&&) noexcept;
  Collection& operator=(const Collection&);
  Collection& operator=(Collection&&) noexcept;
  ~Collection();
};

/// A warning when the images are valid but cannot represent others: there is only one image, or all
/// images give the same range of every tensor.
std::optional<std::string> doubtful(const Collection& collection);

inline constexpr std::int64_t kMaxStatisticsBytes = std::int64_t{1} << 30;

/// A collection as bytes: a line of JSON, then binary data. decide() gives the same table from
/// these bytes as from the collection itself, and needs no images. Size: about 2 bytes per
/// histogram cell that is not empty. Throws Error(kInvalidTable) when a name is not UTF-8.
std::string write_collection(const Collection& collection);

/// Reads write_collection()'s bytes. Any bytes are safe: sizes are checked before memory is
/// allocated, and contradictions are refused. Throws Error(kInvalidTable).
Collection read_collection(std::string_view bytes);

struct CollectOptions {
  std::vector<std::string> tensors;  ///< names to observe
  Preprocess preprocess;
  /// Fingerprint of the model to record; by default that of the executor's graph.
  std::optional<std::uint64_t> model_fingerprint;
  BadImages bad_images = BadImages::kSkip;
  /// Above 0: run the images twice and count every value (Counting::all()). The second pass counts
  /// |x| in this many linear bins over [0, max|x|], like tools that need the range in advance. 0:
  /// run the images once and count a sample of the values. See Statistics::magnitudes().
  std::int64_t exact_bins = 0;
  int threads = 0;    ///< one image each; 0 = all available threads
  Progress progress;  ///< counts the images of all passes
};

/// Runs the images through the network and observes the named tensors.
/// Each worker decodes one image at a time, runs it with one thread and adds to its own statistics,
/// which are merged at the end. The result does not depend on the number of threads. Throws
/// Error(kUsage) when a tensor does not exist, Error(kUnsupported) when the model does not have
/// exactly one float32 image input of batch 1, Error(kMismatch) when the preprocessing makes
/// another size than the model declares, Error(kInvalidArgument) naming image and node for NaN or
/// an infinity, Error(kInvalidImage) when no image is usable (with BadImages::kFail, for the first
/// bad image), and Error(kCancelled).
/// Memory: per thread one run of the network and 128 to 300 KiB per tensor, independent of the
/// number of images.
Collection collect(const Executor& executor, const Samples& samples, const CollectOptions& options);

}  // namespace qtool
