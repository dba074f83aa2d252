#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Suppression looks at this number of the best rows of an image. A network may report millions.
inline constexpr std::int64_t kMaxCandidates = 4096;

/// The lowest score at which boxes are included in the average precision, unless the lowest
/// threshold is lower. Source: Detectron2, SCORE_THRESH_TEST.
inline constexpr double kRankedScore = 0.05;

/// The same against annotations. Source: Ultralytics YOLOv5, val.py, conf_thres.
inline constexpr double kAnnotatedScore = 0.001;

/// A row with a corner beyond this number of pixels is not a box.
inline constexpr double kFarthestCorner = 1e6;

/// The numbers of all rows of an image, whatever their scores are.
struct BoxSurvey {
  std::int64_t rows = 0;
  double width = 0.0;  ///< of the input, in pixels
  double height = 0.0;
  /// The range of the numbers that are scores as they are, without a function, and 0.
  double lowest_score = 0.0;
  double highest_score = 0.0;
  bool is_finite = true;         ///< all numbers of scores and boxes are
  std::vector<float> centres_x;  ///< of the rows whose corners are within kFarthestCorner
  std::vector<float> centres_y;
};

/// Applies a detector to the outputs of one plan.
class BoxDecoder {
 public:
  /// `input`: shape of the plan's input; `channels` says where its channels lie; `lowest_score`:
  /// see read(). Throws Error(kMismatch) when an output is missing, has no rows or too few
  /// channels, when scores and boxes differ in the number of rows, or when the grid gives a
  /// different number of rows.
  BoxDecoder(Detector detector, std::span<const PortInfo> outputs, const Shape& input,
             ChannelAxis channels, double lowest_score = kRankedScore);

  /// The boxes of image `slot` of the batch after suppression, best first; the lower row wins a
  /// tie. Boxes with scores below both `lowest_score` and the lowest threshold are left out. A row
  /// whose score or corners are not finite, or that has no area, is no box. `outputs` are in the
  /// order of the plan's outputs. Cost: O(rows * classes), plus the suppression.
  [[nodiscard]] std::vector<Box> read(std::span<const TensorView> outputs,
                                      std::int64_t slot = 0) const;

  /// What the rows of image `slot` hold. Cost: O(rows * classes).
  [[nodiscard]] BoxSurvey survey(std::span<const TensorView> outputs, std::int64_t slot) const;

  [[nodiscard]] const Detector& detector() const { return detector_; }
  /// 0 where the classes are numbers in a channel, so that their count is not known.
  [[nodiscard]] std::int64_t classes() const { return detector_.label_channel ? 0 : classes_; }

 private:
  /// The rows of one output.
  struct Rows {
    std::size_t output = 0;
    std::int64_t count = 0;
    std::int64_t channels = 0;
    std::int64_t row_step = 0;
    std::int64_t channel_step = 0;
  };
  struct Candidate {
    double score = 0.0;
    std::int64_t row = 0;
    std::int64_t label = 0;
  };
  [[nodiscard]] std::vector<Rows> bind(const AnchorRows& rows, std::span<const PortInfo> outputs,
                                       std::int64_t last_channel, const char* what) const;
  /// Exchanges the outputs of boxes and scores where only those of the scores have four channels.
  void order_outputs(std::span<const PortInfo> outputs);
  void require_grid(std::int64_t rows) const;
  /// The numbers of image `slot` in the output that holds `rows`.
  static const float* image_of(const Rows& rows, std::span<const TensorView> outputs,
                               std::int64_t slot);
  /// The softmax of the number `x` of a row over all numbers of the row.
  static double softmax_of(double x, const float* numbers, const Rows& rows);
  [[nodiscard]] std::vector<Candidate> candidates(std::span<const TensorView> outputs,
                                                  std::int64_t slot) const;
  /// The corners (left, top, right, bottom) of a row; nullopt if one is beyond kFarthestCorner.
  [[nodiscard]] std::optional<std::array<double, 4>> corners_of(std::int64_t row,
                                                                const float* numbers,
                                                                std::int64_t step) const;

  Detector detector_;
  std::int64_t batch_ = 1;
  double width_ = 0.0;
  double height_ = 0.0;
  std::vector<Rows> boxes_;
  std::vector<Rows> scores_;
  std::int64_t classes_ = 0;
  double floor_ = 0.0;
};

}  // namespace qtool
