#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "qtool/compare/infer.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"

namespace qtool {

/// The answers of infer() drawn on the image they are about: one panel for FP32 and, to its right,
/// one for INT8. Boxes that both models have are green, those of one model alone orange; pixels of
/// class 0 keep their colours, those of other classes are tinted; the best classes stand below.
/// `preprocess` made the network's input of `image`. A panel's longer side is brought to 480 to 960
/// pixels. No caption of a box covers another one, as far as there is room. Throws as
/// output_shape(), and Error(kInvalidImage) when an image becomes too narrow.
Image draw_answers(const Image& image, const Preprocess& preprocess, const InferResult& result,
                   std::span<const std::string> class_names);

/// The same without captions, as a thumbnail: the panels' longer side is `side` pixels.
Image draw_small(const Image& image, const Preprocess& preprocess, const InferResult& result,
                 std::int64_t side);

/// How many boxes FP32 (`model` 0) or INT8 (1) has, and which of them the other one has not: `12
/// boxes, 1 lost`.
std::string boxes_text(const InferResult& result, std::size_t model);

}  // namespace qtool
