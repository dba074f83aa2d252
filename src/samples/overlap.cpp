#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "image/image_header.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"

namespace qtool {
std::uint64_t content_id(std::span<const Tensor> sample) noexcept {
  std::uint64_t hash = 0;
  for (const Tensor& tensor : sample) {
    hash = hash_bytes({tensor.data(), static_cast<std::size_t>(tensor.bytes())}, hash);
  }
  return hash;
}

std::optional<std::uint64_t> content_id(const Samples& samples, std::int64_t i) try {
  if (samples.are_images()) {
    return hash_bytes(std::string_view(read_file(samples.path(i), kMaxImageFileBytes)));
  }
  std::vector<BadImage> bad;  // stays empty: tensors are never left out
  return content_id(*samples.load(i, Preprocess(), BadImages::kFail, bad));
} catch (const Error& error) {
  if (error.code() == ErrorCode::kCancelled) throw;
  return std::nullopt;
}

std::vector<std::optional<std::uint64_t>> content_ids(const Samples& samples, int threads) {
  std::vector<std::optional<std::uint64_t>> ids(static_cast<std::size_t>(samples.size()));
  parallel_items(samples.size(), resolve_threads(threads), [&](std::int64_t item, int) {
    check_stop_inside();
    ids[static_cast<std::size_t>(item)] = content_id(samples, item);
  });
  return ids;
}

std::optional<Overlap> overlap_of(std::span<const std::uint64_t> ids, const Samples& samples,
                                  int threads, const StopCheck& stop) {
  if (ids.empty()) return std::nullopt;
  const StopScope scope(stop);
  Overlap overlap{.noun = std::string(samples.noun())};
  for (const std::optional<std::uint64_t>& id : content_ids(samples, threads)) {
    if (!id) continue;
    ++overlap.samples;
    if (std::binary_search(ids.begin(), ids.end(), *id)) ++overlap.common;
  }
  return overlap;
}

}  // namespace qtool
