#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "qtool/answers/annotations.h"

// The average precision of boxes against annotations, by the definition of COCO.
// Source: Lin et al., Microsoft COCO: Common Objects in Context, 2014; https://cocodataset.org,
// Detection Evaluation; cocodataset/cocoapi, PythonAPI/pycocotools/cocoeval.py.
namespace qtool {

inline constexpr std::size_t kCocoIous = 10;    ///< 0.50, 0.55 ... 0.95
inline constexpr std::size_t kCocoAreas = 4;    ///< all, small, medium, large
inline constexpr std::size_t kCocoBoxes = 100;  ///< the best boxes of an image and a category count

/// A box of a model, in pixels of the image file.
struct FoundBox {
  std::int64_t category = 0;  ///< index in BoxAnnotations::categories
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;
  float score = 0.0F;
};

/// What became of the boxes of one image in one category. Bit i of a mask belongs to IoU i.
struct CocoMatches {
  struct Found {
    float score = 0.0F;
    std::array<std::uint16_t, kCocoAreas> hit{};      ///< it matches an annotated box
    std::array<std::uint16_t, kCocoAreas> ignored{};  ///< it is neither right nor wrong
  };
  std::int64_t category = 0;
  std::array<std::int64_t, kCocoAreas> truths{};  ///< annotated boxes to find
  std::vector<Found> found{};                     ///< best first, at most kCocoBoxes
};

/// Matches the boxes of one image, for each category that occurs, ascending. A box takes the free
/// annotated box of its category with the highest IoU, if this reaches the IoU of the line. A crowd
/// is never taken, and its IoU is the share of the box inside it. Crowds and objects whose area is
/// outside of the range are ignored, and taken only by boxes that no other object matches. A box
/// that matches nothing is ignored too if its own area is outside of the range.
/// Cost: O(truths * found) for each IoU and range.
std::vector<CocoMatches> match_annotated(std::span<const AnnotatedBox> truths,
                                         std::span<const FoundBox> found);

/// Which figures are computed.
enum class CocoFigures : std::uint8_t { kAll, kOnlyMean };

/// The average precision over images, which match_annotated() has matched. The precision at a
/// recall is the best precision at this recall or a higher one. It is taken at recall 0, 0.01 ...
/// 1, and the figure is the mean over these, over the IoUs, and over the categories with an object
/// to find. kOnlyMean leaves all figures but `all` out. Cost: O(n log n) for n boxes, for each IoU
/// and range.
AnnotatedPrecision precision_of(std::span<const std::vector<CocoMatches>* const> images,
                                CocoFigures figures);

}  // namespace qtool
