#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/answers/answer.h"

namespace qtool {

/// A box that a person drew around an object.
struct AnnotatedBox {
  std::int64_t category = 0;  ///< index in BoxAnnotations::categories
  double left = 0.0;          ///< all four: pixels of the image file
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;
  double area = 0.0;   ///< pixels of the object, which may be fewer than those of the box
  bool crowd = false;  ///< the box holds many objects: it is neither found nor missed
};

/// An image with its boxes.
struct AnnotatedImage {
  std::string file;  ///< path with `/`, relative to a folder that is not known
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<AnnotatedBox> boxes{};
};

/// The boxes of many images, from a file of the format of COCO's instances.
struct BoxAnnotations {
  std::vector<AnnotatedImage> images;
  std::vector<std::int64_t> categories;  ///< the ids, ascending
};

/// The largest file of annotations.
inline constexpr std::int64_t kMaxAnnotationBytes = std::int64_t{1} << 28;

/// Reads the fields `images`, `annotations` and `categories` of such a file. Other fields have no
/// effect. Throws Error(kUsage), which names the field, for a value outside its domain, an id that
/// occurs twice or that nothing has, and a file without images or categories. Cost: linear, about
/// 20 bytes of memory for each byte of the file.
BoxAnnotations annotations_from_json(std::string_view text, std::string_view name);

/// The average precision of the boxes of one model, by COCO's definition. A figure without objects
/// to find is nullopt.
struct AnnotatedPrecision {
  std::optional<double> all{};     ///< the mean over IoU 0.50, 0.55 ... 0.95
  std::optional<double> iou50{};   ///< at IoU 0.50
  std::optional<double> iou75{};   ///< at IoU 0.75
  std::optional<double> small{};   ///< of objects with an area of at most 32^2 pixels
  std::optional<double> medium{};  ///< from 32^2 to 96^2
  std::optional<double> large{};   ///< of 96^2 or more
  std::optional<double> recall{};  ///< average recall, with at most 100 boxes
};

/// How well the boxes of both models agree with annotations.
struct BoxAccuracy {
  std::int64_t images = 0;         ///< images that ran and that are annotated in their size
  std::int64_t unnamed = 0;        ///< images that ran and are not annotated
  std::int64_t other_size = 0;     ///< images that ran and whose annotation names another size
  std::string first_other_size{};  ///< the first of these, with both sizes
  std::int64_t boxes = 0;          ///< annotated boxes of `images`, without crowds
  AnnotatedPrecision fp32{};
  AnnotatedPrecision int8{};
  /// Of AnnotatedPrecision::all and of its change (INT8 - FP32), by jackknife_interval().
  std::optional<Interval> fp32_interval{};
  std::optional<Interval> int8_interval{};
  std::optional<Interval> change_interval{};
};

}  // namespace qtool
