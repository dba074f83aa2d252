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

/// A kind of object.
struct BoxCategory {
  std::int64_t id = 0;
  std::string name{};  ///< empty: the file does not say it
};

/// The boxes of many images, from a file of the format of COCO's instances.
struct BoxAnnotations {
  std::vector<AnnotatedImage> images;
  std::vector<BoxCategory> categories;  ///< by their ids, ascending
};

/// The largest file of annotations.
inline constexpr std::int64_t kMaxAnnotationBytes = std::int64_t{1} << 28;

/// Reads the fields `images`, `annotations` and `categories` of such a file. Other fields have no
/// effect. Throws Error(kUsage), which names the field, for a value outside its domain, an id that
/// occurs twice or that nothing has, and a file without images or categories. Cost: linear, about
/// 20 bytes of memory for each byte of the file.
BoxAnnotations annotations_from_json(std::string_view text, std::string_view name);

/// The key of the class names in the metadata of models that exporters of YOLO write.
inline constexpr std::string_view kClassNamesKey = "names";
/// The largest text of class names, and the most classes in it.
inline constexpr std::size_t kMaxClassNameBytes = std::size_t{1} << 22;
inline constexpr std::int64_t kMaxClassNames = 100'000;

/// Reads the names of a network's classes, index = class. The text is a dictionary of the numbers
/// of the classes, `{0: 'person', 1: 'bicycle'}`, or a list of the names, as Python or JSON write
/// them. A number that the dictionary leaves out has an empty name. nullopt for every other text,
/// also for one that names a class twice or no class, and beyond the limits above. Cost: linear.
/// Source: Ultralytics, engine/exporter.py, `metadata`.
std::optional<std::vector<std::string>> class_names_from_text(std::string_view text);

/// Who names the classes of a detector.
enum class NamesFrom : std::uint8_t {
  kUser,   ///< the user: the names must suit the annotations
  kModel,  ///< the model's metadata, which may be of other data: then the names are not used
};

/// By what the categories of annotations become classes of a detector.
enum class CategoriesBy : std::uint8_t {
  kNames,  ///< a class is the category of the same name
  kOrder,  ///< class k is the category with the k-th lowest id
  kIds,    ///< class k is the category with id k, or with id k + 1
};

/// How the categories of annotations became classes of a detector.
struct CategoryMatch {
  CategoriesBy by = CategoriesBy::kOrder;
  bool classes_named = false;    ///< something that suits the annotations names the classes
  std::string unsuited_names{};  ///< why the names in the model's metadata are not used, or empty
  std::int64_t categories = 0;   ///< of the annotations
  std::int64_t classes = 0;      ///< of the detector; 0 if it is not known
  /// The categories that are no class of the detector, by their names. Their boxes do not count.
  std::vector<std::string> without_class{};
  std::int64_t boxes_without_class = 0;  ///< annotated boxes of these, without crowds

  /// The first names of `without_class`, in quotes.
  [[nodiscard]] std::string names_without_class() const;
  /// Whether the order is a guess: neither names nor ids say which classes the categories are, and
  /// there are more classes, or it is not known how many, or the names contradict.
  [[nodiscard]] bool is_guess() const {
    return by == CategoriesBy::kOrder &&
           (classes == 0 || categories < classes || !unsuited_names.empty());
  }
};

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
  CategoryMatch categories{};
  AnnotatedPrecision fp32{};
  AnnotatedPrecision int8{};
  /// Of AnnotatedPrecision::all and of its change (INT8 - FP32), by jackknife_interval().
  std::optional<Interval> fp32_interval{};
  std::optional<Interval> int8_interval{};
  std::optional<Interval> change_interval{};
};

}  // namespace qtool
