#include "search/held_out_images.h"

#include <algorithm>
#include <vector>

#include "base/stop.h"

namespace qtool {

SplitContents contents_of(const SplitSamples& split, std::span<const std::uint64_t> calibrated,
                          int threads, const StopCheck& stop) {
  SplitContents contents;
  if (!split.held && calibrated.empty()) return contents;
  const StopScope scope(stop);
  const auto ids_of = [&](const Samples& samples) {
    std::vector<std::uint64_t> ids;
    for (const std::optional<std::uint64_t>& id : content_ids(samples, threads)) {
      if (id) ids.push_back(*id);
    }
    std::ranges::sort(ids);
    return ids;
  };
  const auto common = [](const std::vector<std::uint64_t>& ids,
                         std::span<const std::uint64_t> others) {
    return std::ranges::count_if(
        ids, [&](std::uint64_t id) { return std::ranges::binary_search(others, id); });
  };
  const std::vector<std::uint64_t> searched = ids_of(split.rest);
  std::vector<std::uint64_t> held;
  if (split.held) held = ids_of(*split.held);
  contents.held_copies = common(held, searched);
  contents.held_calibrated = common(held, calibrated);
  if (calibrated.empty()) return contents;
  Overlap& overlap = contents.overlap.emplace();
  overlap.noun = std::string(split.rest.noun());
  overlap.samples = std::ssize(searched) + std::ssize(held);
  overlap.common = common(searched, calibrated) + contents.held_calibrated;
  return contents;
}

}  // namespace qtool
