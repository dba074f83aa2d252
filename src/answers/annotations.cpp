// Reads the annotations of images in the format of COCO's instances.
#include "qtool/answers/annotations.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/text.h"
#include "image/image_header.h"
#include "json/json.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxId = std::int64_t{1} << 53;  // JSON's numbers are exact up to here
constexpr double kMaxCoordinate = 1e6;
constexpr double kMaxArea = 1e12;
constexpr std::size_t kMaxCategories = 100'000;
constexpr std::size_t kMaxCategoryName = 1000;  // bytes
constexpr std::size_t kMostNamed = 5;

/// The index of each id.
using Indices = std::map<std::int64_t, std::size_t>;

std::size_t index_of_id(const JsonField& field, const Indices& indices) {
  const auto found = indices.find(field.as_int(0, kMaxId));
  if (found == indices.end()) field.fail("an id of the same file");
  return found->second;
}

std::vector<JsonField> list_of(const JsonField& root, const char* key) {
  std::vector<JsonField> list = root.at(key).elements();
  if (list.empty()) root.at(key).fail("one element or more");
  return list;
}

BoxCategory category_from(const JsonField& field) {
  BoxCategory category{field.at("id").as_int(0, kMaxId), {}};
  if (const auto name = field.find("name")) {
    category.name = name->as_string();
    if (category.name.size() > kMaxCategoryName) {
      name->fail(to_text("at most ", kMaxCategoryName, " bytes"));
    }
  }
  return category;
}

AnnotatedBox box_from(const JsonField& annotation) {
  AnnotatedBox box;
  const JsonField corners = annotation.at("bbox");
  const std::vector<JsonField> numbers = corners.elements();
  if (numbers.size() != 4) corners.fail("four numbers");
  box.left = numbers[0].as_double(-kMaxCoordinate, kMaxCoordinate);
  box.top = numbers[1].as_double(-kMaxCoordinate, kMaxCoordinate);
  box.width = numbers[2].as_double(0.0, kMaxCoordinate);
  box.height = numbers[3].as_double(0.0, kMaxCoordinate);
  box.area = box.width * box.height;
  if (const auto area = annotation.find("area")) box.area = area->as_double(0.0, kMaxArea);
  if (const auto crowd = annotation.find("iscrowd")) box.crowd = crowd->as_int(0, 1) == 1;
  return box;
}

}  // namespace

std::string CategoryMatch::names_without_class() const {
  std::string text;
  for (std::size_t i = 0; i < without_class.size() && i < kMostNamed; ++i) {
    text += to_text(i == 0 ? "'" : ", '", without_class[i], "'");
  }
  return without_class.size() > kMostNamed ? text + " ..." : text;
}

BoxAnnotations annotations_from_json(std::string_view text, std::string_view name) {
  const std::string what = to_text("annotations '", name, "'");
  const nlohmann::json json = parse_json(text, kMaxAnnotationBytes, what, ErrorCode::kUsage);
  const JsonField root(json, what, ErrorCode::kUsage);
  BoxAnnotations annotations;
  const std::vector<JsonField> categories = list_of(root, "categories");
  if (categories.size() > kMaxCategories) root.at("categories").fail("at most 100,000");
  for (const JsonField& category : categories) {
    annotations.categories.push_back(category_from(category));
  }
  std::ranges::sort(annotations.categories, {}, &BoxCategory::id);
  Indices category_indices;
  for (const BoxCategory& category : annotations.categories) {
    if (!category_indices.emplace(category.id, category_indices.size()).second) {
      root.at("categories").fail(to_text("different ids; ", category.id, " occurs twice"));
    }
  }
  Indices image_indices;
  for (const JsonField& image : list_of(root, "images")) {
    AnnotatedImage& one = annotations.images.emplace_back();
    one.file = image.at("file_name").as_string();
    std::ranges::replace(one.file, '\\', '/');  // of another system
    one.width = image.at("width").as_int(1, kMaxImageSide);
    one.height = image.at("height").as_int(1, kMaxImageSide);
    if (one.width * one.height > kMaxImagePixels) {
      image.at("height").fail(to_text("at most ", kMaxImagePixels, " pixels in all"));
    }
    const JsonField id = image.at("id");
    if (!image_indices.emplace(id.as_int(0, kMaxId), image_indices.size()).second) {
      id.fail("an id that no other image has");
    }
  }
  for (const JsonField& annotation : root.at("annotations").elements()) {
    const std::size_t image = index_of_id(annotation.at("image_id"), image_indices);
    AnnotatedBox box = box_from(annotation);
    box.category =
        static_cast<std::int64_t>(index_of_id(annotation.at("category_id"), category_indices));
    annotations.images[image].boxes.push_back(box);
  }
  return annotations;
}

}  // namespace qtool
