#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "qtool/image/image_set.h"
#include "qtool/image/load.h"
#include "qtool/measure/analyze.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Workers that for_each_image() hands images to.
int image_workers(const ImageSet& images, const AnalyzeOptions& options);

/// Calls `body(entry, image, worker)` once for every usable image of the set, one image per worker
/// at a time. `entry` counts in the list. Each image must have the shape `expected` but for the
/// batch. Reports the progress of `options`; `work` names it where it is stopped. Returns the
/// images left out, in the order of the list. Throws as load_preprocessed() and
/// require_image_shape(), and Error(kCancelled).
std::vector<BadImage> for_each_image(
    const ImageSet& images, const AnalyzeOptions& options, const Shape& expected,
    std::string_view work, const std::function<void(std::size_t, const Tensor&, int)>& body);

}  // namespace qtool
