#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "qtool/image/preprocess.h"

namespace qtool {

inline constexpr std::size_t kWorstImages = 12;
/// Boxes of a detector are compared on so many images, to choose kWorstImages among them.
inline constexpr std::size_t kBoxCandidates = 48;

/// A sample that the INT8 model answers badly, for people to look at.
struct WorstImage {
  std::string path;
  bool flipped = false;  ///< both models answered, with different classes
  double sqnr_db = 0.0;  ///< mean of the outputs; 0 if a model did not answer
  std::string label;     ///< empty if not known
  /// The answers of FP32 and INT8: the class and its margin over the second class, or the number of
  /// boxes. Empty if there is neither.
  std::array<std::string, 2> answers{};
  std::string jpeg;            ///< picture, each side at most kThumbnailSide; may be empty
  bool drawn = false;          ///< draw_answers_on() made the picture
  std::int64_t differing = 0;  ///< boxes that one model alone has; set by draw_answers_on()
};

inline constexpr std::int64_t kThumbnailSide = 160;
inline constexpr std::int64_t kDrawnSide = 240;

/// The `count` worst samples. Up to half of them are samples for which the models give different
/// classes, those whose margin fell most first. The others are the samples with the lowest SQNR.
/// Samples with equal figures are in the order of the list. They have no pictures yet. Cost:
/// linear.
std::vector<WorstImage> worst_images(const EvalResult& result, std::size_t count);

/// Makes each picture of two panels of kDrawnSide pixels, which show the boxes, or the classes
/// of the pixels, of both models. `answer` runs both models on the file of an image. An image that
/// can no longer be read gets no picture. Keeps `count` images: those with the most boxes that
/// one model alone has, and among equals the first.
void draw_answers_on(std::vector<WorstImage>& images, std::size_t count,
                     const Preprocess& preprocess,
                     const std::function<InferResult(const std::string& path)>& answer);

/// Gives the images without a picture one of kThumbnailSide pixels. An image that can no longer be
/// read stays without. Cost: decoding these images. Memory: their pictures.
void add_thumbnails(std::vector<WorstImage>& images);

}  // namespace qtool
