#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The most samples of a set that are told apart. A table of more samples does not name them.
inline constexpr std::int64_t kMaxImageIds = 100'000;

/// Identifies the content of a sample of tensors: XXH64 of their values, as the network takes them.
std::uint64_t content_id(std::span<const Tensor> sample) noexcept;

/// Identifies the content of sample `i`, whatever its file is called: XXH64 of the bytes of an
/// image file, or content_id() of the tensors. std::nullopt if it cannot be read. Cost: reads the
/// file, which must be no larger than load_image() allows.
std::optional<std::uint64_t> content_id(const Samples& samples, std::int64_t i);

/// content_id() of every sample, in their order. `threads`: 0 = all available. The result does not
/// depend on it. Throws Error(kCancelled).
std::vector<std::optional<std::uint64_t>> content_ids(const Samples& samples, int threads = 0);

/// How many samples of a set are copies of samples of another set.
struct Overlap {
  std::string noun = "image";  ///< word for a sample, see Samples::noun()
  std::int64_t samples = 0;    ///< samples of the set that could be read
  std::int64_t common = 0;     ///< those among them that are in the other set, too
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

/// The overlap of `samples` with a set of the contents `ids`, which are sorted.
/// CalibrationTable::image_ids are such contents. std::nullopt if `ids` is empty: that set is not
/// known. `stop` is asked for every sample. Throws Error(kCancelled). Cost: that of content_ids().
std::optional<Overlap> overlap_of(std::span<const std::uint64_t> ids, const Samples& samples,
                                  int threads = 0, const StopCheck& stop = {});

}  // namespace qtool
