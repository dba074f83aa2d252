#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "answers/coco_scorer.h"
#include "image/image_header.h"
#include "qtool/answers/annotations.h"
#include "qtool/answers/answer.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// The category of each class of a detector, as an index in BoxAnnotations::categories. Class k is
/// the category with the k-th lowest id if there are as many classes as categories, the category
/// with id k + 1 if there are as many classes as the highest id, and the category with id k if
/// there is one class more, as in DETR. 0 classes are an unknown number, one for each category.
/// -1 for a class without a category. Throws Error(kMismatch) for other numbers.
std::vector<std::int64_t> categories_of(const BoxAnnotations& annotations, std::int64_t classes);

/// Compares the boxes of both models with annotations. Samples are added by several threads.
class AnnotatedBoxes {
 public:
  /// `classes`: the number of classes that boxes can have. The annotations of a sample are those of
  /// the image whose file name is the end of the sample's path. Throws as categories_of() does,
  /// Error(kUsage) for samples that are no images, and Error(kMismatch) if none of them is
  /// annotated.
  AnnotatedBoxes(const BoxAnnotations& annotations, const Samples& samples,
                 const Preprocess& preprocess, std::int64_t classes);

  /// The size of the image of sample `item`, for add(). The file is not read where the sample is
  /// not annotated.
  [[nodiscard]] ImageSize size_of(std::int64_t item, const std::filesystem::path& file) const;
  /// Adds the boxes of sample `item`, which are in pixels of the network's input. `size`: of the
  /// image, which is not looked at where the sample is not annotated. If the annotations name
  /// another size, their boxes do not suit it, and the sample does not count. Each sample is added
  /// once at most; calls for different samples do not disturb each other.
  void add(std::int64_t item, const ImageSize& size, std::span<const Box> fp32,
           std::span<const Box> int8);

  /// Cost: 33 times that of precision_of(), for each model.
  [[nodiscard]] BoxAccuracy result() const;

 private:
  struct Entry {
    const AnnotatedImage* image = nullptr;  ///< null: it is not annotated
    bool ran = false;
    ImageSize size{};
    std::array<std::vector<CocoMatches>, 2> matches{};  ///< FP32, INT8
    [[nodiscard]] bool suits() const;                   ///< an annotated image: its size is right
  };
  [[nodiscard]] std::vector<CocoMatches> matches_of(const AnnotatedImage& image,
                                                    std::span<const Box> boxes) const;

  std::vector<std::int64_t> categories_;
  Preprocess preprocess_;
  std::vector<Entry> entries_;  ///< one per sample
};

}  // namespace qtool
