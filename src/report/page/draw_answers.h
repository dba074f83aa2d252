#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "qtool/compare/infer.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"

namespace qtool {

/// Draws the answers of infer() on their image: one panel for FP32 and, to its right, one for INT8.
/// Boxes that both models have are green; boxes that only one model has are orange. Pixels of class
/// 0 keep their colours; pixels of other classes are tinted. The best classes are listed below.
/// `preprocess` is how the network's input was made from `image`. The image is scaled so that the
/// longer side of a panel has 480 to 960 pixels. Captions of boxes do not cover each other as long
/// as there is room. Throws as output_shape(), and Error(kInvalidImage) when an image becomes too
/// narrow.
Image draw_answers(const Image& image, const Preprocess& preprocess, const InferResult& result,
                   std::span<const std::string> class_names);

/// Draws the answers as a thumbnail without captions. The longer side of a panel has `side` pixels.
Image draw_small(const Image& image, const Preprocess& preprocess, const InferResult& result,
                 std::int64_t side);

/// The number of boxes of FP32 (`model` 0) or INT8 (`model` 1), and how many of them the other
/// model does not have: `12 boxes, 1 lost`.
std::string boxes_text(const InferResult& result, std::size_t model);

}  // namespace qtool
