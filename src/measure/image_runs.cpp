#include "measure/image_runs.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/stop.h"
#include "measure/model_pair.h"

namespace qtool {

int image_workers(const ImageSet& images, const AnalyzeOptions& options) {
  return static_cast<int>(std::min<std::int64_t>(
      resolve_threads(options.threads), std::max<std::int64_t>(std::ssize(images.entries), 1)));
}

std::vector<BadImage> for_each_image(
    const ImageSet& images, const AnalyzeOptions& options, const Shape& expected,
    std::string_view work, const std::function<void(std::size_t, const Tensor&, int)>& body) {
  // Per entry, so that workers share no list.
  std::vector<std::vector<BadImage>> bad(images.entries.size());
  std::mutex progress_mutex;
  std::int64_t done = 0;
  parallel_items(std::ssize(images.entries), image_workers(images, options),
                 [&](std::int64_t item, int worker) {
                   const auto entry = static_cast<std::size_t>(item);
                   const std::optional<Tensor> image = load_preprocessed(
                       images.entries[entry], options.preprocess, options.bad_images, bad[entry]);
                   if (image) {
                     require_image_shape(*image, images.entries[entry], expected);
                     body(entry, *image, worker);
                   }
                   const std::lock_guard lock(progress_mutex);
                   report_progress(options.progress, ++done, std::ssize(images.entries), work,
                                   "images");
                 });
  std::vector<BadImage> all;
  for (const std::vector<BadImage>& some : bad) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace qtool
