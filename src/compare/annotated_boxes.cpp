#include "compare/annotated_boxes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>

#include "base/text.h"
#include "compare/intervals.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

/// The annotated images by the last part of their paths.
using ImagesByName = std::multimap<std::string, const AnnotatedImage*, std::less<>>;

std::string name_in(const std::string& file) { return file.substr(file.rfind('/') + 1); }

bool ends_with_path(const std::string& path, const std::string& end) {
  return path == end || (path.ends_with(end) && path[path.size() - end.size() - 1] == '/');
}

const AnnotatedImage* image_of(const ImagesByName& images, const std::filesystem::path& path) {
  const auto [begin, end] = images.equal_range(path.filename().string());
  const AnnotatedImage* best = nullptr;
  for (auto at = begin; at != end; ++at) {
    const AnnotatedImage& image = *at->second;
    // Most files name images without their folder.
    if (!ends_with_path(path.generic_string(), image.file)) continue;
    if (best == nullptr || image.file.size() > best->file.size()) best = &image;
  }
  return best;
}

using MatchedImages = std::vector<const std::vector<CocoMatches>*>;

double mean_precision(const MatchedImages& images) {
  return precision_of(images, CocoFigures::kOnlyMean).all.value_or(std::nan(""));
}

// The means without the images of each group.
std::vector<double> without_groups(const MatchedImages& images) {
  const std::size_t groups = std::min(kJackknifeGroups, images.size());
  std::vector<double> means;
  for (std::size_t group = 0; group < groups; ++group) {
    MatchedImages rest;
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (i % groups != group) rest.push_back(images[i]);
    }
    means.push_back(mean_precision(rest));
  }
  return means;
}

}  // namespace

AnnotatedBoxes::AnnotatedBoxes(const EvalOptions& options, const Samples& samples,
                               std::int64_t classes)
    : mapping_(
          map_categories(*options.annotations, classes, options.class_names, options.names_from)),
      has_class_(options.annotations->categories.size(), false),
      preprocess_(options.preprocess),
      entries_(static_cast<std::size_t>(samples.size())) {
  const BoxAnnotations& annotations = *options.annotations;
  for (const std::int64_t category : mapping_.of_class) {
    if (category >= 0) has_class_[static_cast<std::size_t>(category)] = true;
  }
  if (!samples.are_images()) {
    throw Error(ErrorCode::kUsage, "annotations are of images, found samples of tensors");
  }
  ImagesByName images;
  for (const AnnotatedImage& image : annotations.images) {
    images.emplace(name_in(image.file), &image);
  }
  bool any = false;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    Entry& entry = entries_[static_cast<std::size_t>(i)];
    entry.image = image_of(images, samples.path(i));
    any = any || entry.image != nullptr;
  }
  if (!any) {
    throw Error(ErrorCode::kMismatch,
                to_text("none of ", samples.size(), " images is annotated, the first: '",
                        samples.path(0).string(), "'; the annotations name '",
                        annotations.images.front().file, "'"));
  }
}

bool AnnotatedBoxes::has_class(const AnnotatedBox& box) const {
  return has_class_[static_cast<std::size_t>(box.category)];
}

std::vector<CocoMatches> AnnotatedBoxes::matches_of(const AnnotatedImage& image,
                                                    std::span<const Box> boxes) const {
  const InputPlacement place = placement_of(preprocess_, image.width, image.height);
  std::vector<FoundBox> found;
  for (const Box& box : boxes) {
    const auto label = static_cast<std::size_t>(box.label);
    if (label >= mapping_.of_class.size() || mapping_.of_class[label] < 0) continue;
    FoundBox& one = found.emplace_back();
    one.category = mapping_.of_class[label];
    one.left = place.image_x(box.left);
    one.top = place.image_y(box.top);
    one.width = (double{box.right} - double{box.left}) * place.x_scale;
    one.height = (double{box.bottom} - double{box.top}) * place.y_scale;
    one.score = box.score;
  }
  std::vector<AnnotatedBox> truths;
  std::ranges::copy_if(image.boxes, std::back_inserter(truths),
                       [this](const AnnotatedBox& box) { return has_class(box); });
  return match_annotated(truths, found);
}

bool AnnotatedBoxes::Entry::suits() const { return size == ImageSize{image->width, image->height}; }

ImageSize AnnotatedBoxes::size_of(std::int64_t item, const std::filesystem::path& file) const {
  const bool annotated = entries_[static_cast<std::size_t>(item)].image != nullptr;
  return annotated ? size_of_image(file) : ImageSize{};
}

void AnnotatedBoxes::add(std::int64_t item, const ImageSize& size, std::span<const Box> fp32,
                         std::span<const Box> int8) {
  Entry& entry = entries_[static_cast<std::size_t>(item)];
  entry.ran = true;
  entry.size = size;
  if (entry.image == nullptr || !entry.suits()) return;
  entry.matches = {matches_of(*entry.image, fp32), matches_of(*entry.image, int8)};
}

BoxAccuracy AnnotatedBoxes::result() const {
  BoxAccuracy accuracy;
  accuracy.categories = mapping_.match;
  std::array<MatchedImages, 2> images;
  for (const Entry& entry : entries_) {
    if (!entry.ran) continue;
    if (entry.image == nullptr) {
      ++accuracy.unnamed;
      continue;
    }
    if (!entry.suits()) {
      if (accuracy.other_size++ == 0) {
        accuracy.first_other_size =
            to_text("'", entry.image->file, "' has ", entry.size.width, "x", entry.size.height,
                    " pixels, its annotation says ", entry.image->width, "x", entry.image->height);
      }
      continue;
    }
    ++accuracy.images;
    for (const AnnotatedBox& box : entry.image->boxes) {
      if (box.crowd) continue;
      ++(has_class(box) ? accuracy.boxes : accuracy.categories.boxes_without_class);
    }
    for (std::size_t m = 0; m < images.size(); ++m) images[m].push_back(&entry.matches[m]);
  }
  accuracy.fp32 = precision_of(images[0], CocoFigures::kAll);
  accuracy.int8 = precision_of(images[1], CocoFigures::kAll);
  if (!accuracy.fp32.all || !accuracy.int8.all) return accuracy;
  const std::vector<double> fp32 = without_groups(images[0]);
  const std::vector<double> int8 = without_groups(images[1]);
  std::vector<double> change;
  for (std::size_t i = 0; i < fp32.size(); ++i) change.push_back(int8[i] - fp32[i]);
  accuracy.fp32_interval = jackknife_interval(*accuracy.fp32.all, fp32);
  accuracy.int8_interval = jackknife_interval(*accuracy.int8.all, int8);
  accuracy.change_interval = jackknife_interval(*accuracy.int8.all - *accuracy.fp32.all, change);
  return accuracy;
}

}  // namespace qtool
