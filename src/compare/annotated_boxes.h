#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "answers/category_mapping.h"
#include "answers/coco_scorer.h"
#include "image/image_header.h"
#include "qtool/answers/annotations.h"
#include "qtool/compare/evaluate.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// Compares the boxes of both models with annotations. Samples are added by several threads.
class AnnotatedBoxes {
 public:
  /// `options`: its annotations must not be null. `classes`: the number of classes that boxes can
  /// have. The annotations of a sample are those of the image whose file name is the end of the
  /// sample's path. Throws as map_categories() does, Error(kUsage) for samples that are no images,
  /// and Error(kMismatch) if none of them is annotated.
  AnnotatedBoxes(const EvalOptions& options, const Samples& samples, std::int64_t classes);

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

  /// Whether `box` counts: some class of the detector is its category.
  [[nodiscard]] bool has_class(const AnnotatedBox& box) const;

  CategoryMapping mapping_;
  std::vector<bool> has_class_;  ///< of each category
  Preprocess preprocess_;
  std::vector<Entry> entries_;  ///< one per sample
};

}  // namespace qtool
