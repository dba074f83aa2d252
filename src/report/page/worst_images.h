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

/// A sample that the INT8 model answers badly, for people to look at.
struct WorstImage {
  std::string path;
  bool flipped = false;  ///< both models answered, with different classes
  double sqnr_db = 0.0;  ///< mean of the outputs; 0 where a model did not answer
  std::string label;     ///< empty: not known
  /// Of FP32, of INT8: the class and its margin over the second one, or how many boxes; empty
  /// without either.
  std::array<std::string, 2> answers{};
  std::string jpeg;    ///< a picture of at most kThumbnailSide pixels; empty where there is none
  bool drawn = false;  ///< the picture is draw_answers_on()'s
};

inline constexpr std::int64_t kThumbnailSide = 160;
inline constexpr std::int64_t kDrawnSide = 240;

/// The samples with another class, those whose margin fell most first, up to half of `count`; then
/// those with the lowest SQNR. Of equal ones the first in the list. Cost: linear, and decoding
/// those images again; one that cannot be read any more has no picture. Memory: `count` pictures.
std::vector<WorstImage> worst_images(const EvalResult& result, std::size_t count);

/// Makes the picture of each two panels of kDrawnSide pixels with the boxes, or the classes of the
/// pixels, of both models. `answer` runs them on the file of an image; one that cannot be read any
/// more keeps what it has.
void draw_answers_on(std::vector<WorstImage>& images, const Preprocess& preprocess,
                     const std::function<InferResult(const std::string& path)>& answer);

}  // namespace qtool
