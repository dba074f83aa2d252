#include "compare/sample_runs.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "compare/model_pair.h"
#include "samples/network_inputs.h"

namespace qtool {

int sample_workers(const Samples& samples, const SampleRunOptions& options) {
  return static_cast<int>(std::min<std::int64_t>(resolve_threads(options.threads),
                                                 std::max<std::int64_t>(samples.size(), 1)));
}

std::vector<BadImage> for_each_sample(
    const Samples& samples, const SampleRunOptions& options, const Plan& plan,
    std::string_view work,
    const std::function<void(std::size_t, std::span<const TensorView>, int)>& body,
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
    parallel_items(
        end - begin, sample_workers(samples, options), [&](std::int64_t part, int worker) {
          const std::int64_t item = begin + part;
          const std::optional<std::vector<Tensor>> sample = samples.load(
              item, options.preprocess, options.bad_images, bad[static_cast<std::size_t>(part)]);
          if (sample) {
            require_shapes(samples, item, *sample, plan);
            body(static_cast<std::size_t>(item), views_of(*sample), worker);
          }
          const std::lock_guard lock(progress_mutex);
          report_progress(options.progress, ++done, samples.size(), work, items);
        });
    for (const std::vector<BadImage>& some : bad) all.insert(all.end(), some.begin(), some.end());
    if (merge) merge(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  }
  return all;
}

}  // namespace qtool
