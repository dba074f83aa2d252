#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The number of workers in for_each_sample().
int sample_workers(const Samples& samples, const SampleRunOptions& options);

/// The number of samples between two calls of `merge`, see for_each_sample().
inline constexpr std::size_t kSampleBlock = 64;

/// A usable sample, and its index in the list.
struct LoadedSample {
  std::size_t entry = 0;
  std::vector<Tensor> tensors{};
};

/// As for_each_sample(), with a body for several samples at once: `body(group, worker)`. A group
/// has `together` samples, or a single one: where others of its group are unusable, and at the end
/// of each block, so that no thread has much left to do when the others have ended. The groups do
/// not depend on the threads.
std::vector<BadImage> for_each_group(
    const Samples& samples, const SampleRunOptions& options, const Plan& plan,
    std::string_view work, std::int64_t together,
    const std::function<void(std::span<const LoadedSample>, int)>& body,
    const std::function<void(std::size_t, std::size_t)>& merge = {});

/// Calls `body(entry, inputs, worker)` once for every usable sample, one per worker at a time.
/// `entry` is the index of the sample in the list. Each sample must have the shapes that `plan`
/// takes. Reports to the progress of `options`. `work` names the work in the error when it is
/// stopped. Returns the images left out, in the order of the list. `merge(begin, end)`, if it is
/// given, is called on one thread after every kSampleBlock entries, in the order of the list. So
/// sums that it makes do not depend on the threads, and need no memory for each sample. Throws
/// Error(kCancelled), and as Samples::load() and require_shapes() do.
std::vector<BadImage> for_each_sample(
    const Samples& samples, const SampleRunOptions& options, const Plan& plan,
    std::string_view work,
    const std::function<void(std::size_t, std::span<const TensorView>, int)>& body,
    const std::function<void(std::size_t, std::size_t)>& merge = {});

}  // namespace qtool
