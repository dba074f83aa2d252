#include "compare/sample_runs.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "compare/model_pair.h"
#include "ops/pieces.h"
#include "samples/network_inputs.h"

namespace qtool {

int sample_workers(const Samples& samples, const SampleRunOptions& options) {
  return static_cast<int>(std::min<std::int64_t>(resolve_threads(options.threads),
                                                 std::max<std::int64_t>(samples.size(), 1)));
}

namespace {

/// Divides the samples of a block into groups, see for_each_group().
std::vector<Range64> groups_of(std::int64_t begin, std::int64_t end, std::int64_t together) {
  std::vector<Range64> groups;
  const auto add = [&](std::int64_t size) {
    groups.push_back({begin, begin + size});
    begin += size;
  };
  while (end - begin >= 2 * together) add(together);
  while (begin < end) add(1);
  return groups;
}

}  // namespace

std::vector<BadImage> for_each_sample(
    const Samples& samples, const SampleRunOptions& options, const Plan& plan,
    std::string_view work,
    const std::function<void(std::size_t, std::span<const TensorView>, int)>& body,
    const std::function<void(std::size_t, std::size_t)>& merge) {
  return for_each_group(
      samples, options, plan, work, 1,
      [&](std::span<const LoadedSample> group, int worker) {
        body(group.front().entry, views_of(group.front().tensors), worker);
      },
      merge);
}

std::vector<BadImage> for_each_group(
    const Samples& samples, const SampleRunOptions& options, const Plan& plan,
    std::string_view work, std::int64_t together,
    const std::function<void(std::span<const LoadedSample>, int)>& body,
    const std::function<void(std::size_t, std::size_t)>& merge) {
  const std::string items = to_text(samples.noun(), "s");
  std::vector<BadImage> all;
  std::mutex progress_mutex;
  std::int64_t done = 0;
  const std::int64_t block =
      merge ? static_cast<std::int64_t>(kSampleBlock) : std::max<std::int64_t>(samples.size(), 1);
  for (std::int64_t begin = 0; begin < samples.size(); begin += block) {
    const std::int64_t end = std::min(begin + block, samples.size());
    // One list per entry, so that workers share no list.
    std::vector<std::vector<BadImage>> bad(static_cast<std::size_t>(end - begin));
    const auto report = [&] {
      const std::lock_guard lock(progress_mutex);
      report_progress(options.progress, ++done, samples.size(), work, items);
    };
    const std::vector<Range64> groups = groups_of(begin, end, together);
    parallel_items(std::ssize(groups), sample_workers(samples, options),
                   [&](std::int64_t part, int worker) {
                     const Range64& range = groups[static_cast<std::size_t>(part)];
                     std::vector<LoadedSample> group;
                     for (std::int64_t item = range.begin; item < range.end; ++item) {
                       std::optional<std::vector<Tensor>> sample =
                           samples.load(item, options.preprocess, options.bad_images,
                                        bad[static_cast<std::size_t>(item - begin)]);
                       if (!sample) {
                         report();
                         continue;
                       }
                       require_shapes(samples, item, *sample, plan);
                       group.push_back({static_cast<std::size_t>(item), *std::move(sample)});
                     }
                     const bool is_whole = std::ssize(group) == range.end - range.begin;
                     if (is_whole) body(group, worker);
                     for (std::size_t i = 0; i < group.size(); ++i) {
                       if (!is_whole) body(std::span(group).subspan(i, 1), worker);
                       report();
                     }
                   });
    for (const std::vector<BadImage>& some : bad) all.insert(all.end(), some.begin(), some.end());
    if (merge) merge(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  }
  return all;
}

}  // namespace qtool
