#pragma once

#include <cstdint>
#include <span>

#include "qtool/exec/executor.h"

namespace qtool {

/// The number of class scores per image in the first of the outputs of `batch` images; 0 where it
/// holds none. Class scores are one vector for each image, of 2 or more numbers: [N, C], with
/// extents of 1 between both ([N, 1, 1, C]), or as an image of one pixel ([N, C, 1, 1], also of
/// more axes). [N, R, 1] is not: these are R rows of one number, such as the scores of a detector's
/// anchors. Neither are C numbers where another output has a row for each of them, such as the
/// boxes [N, C, 4].
std::int64_t class_count(std::span<const PortInfo> outputs, std::int64_t batch);

}  // namespace qtool
