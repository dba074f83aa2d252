#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compare/metrics.h"
#include "qtool/analyze/analyze.h"
#include "qtool/answers/answer.h"

namespace qtool {

/// How much of the answers is FP32's, at most 1. With a mask: of the pixels those with its class.
/// With boxes: of FP32's boxes those kept or, if that is less, 1 minus those added for each of
/// them, from the lowest score that was asked for on and at the highest IoU. The lower one of both;
/// nothing without both, and where neither model finds a box.
std::optional<double> agreement_of(const AnswerAgreement& answers);
/// The row of the lowest score that was asked for, at the highest IoU; nothing without boxes.
std::optional<BoxMatch> judged_boxes(const AnswerAgreement& answers);

/// How a model answered the images, against FP32. Means and counts are evaluate()'s.
struct TrialScore {
  std::vector<double> sqnr_db;  ///< per output: the mean of the images that both models answered
  std::int64_t images = 0;
  std::int64_t unanswered = 0;  ///< that FP32 answered and this model did not
  /// Of the images, the share with the top-1 class of FP32; agreement_of() where boxes or a mask
  /// are read. Nothing where the outputs are none of these.
  std::optional<double> agreement{};
  std::optional<BoxMatch> boxes{};       ///< where boxes are read: those agreement_of() counts
  std::optional<double> equal_pixels{};  ///< where a mask is read: share with FP32's class
  std::int64_t labelled = 0;
  std::int64_t fp32_top1 = 0;
  std::int64_t top1 = 0;
  double integer_share = 0.0;  ///< of the multiplications
};

/// A change, and the noise of the model that it makes; nothing where quantize() refuses it, where
/// it changes nothing, or where nothing is left on integers.
struct Trial {
  Change change;
  std::optional<double> noise{};
  TrialScore score{};
};

/// Makes models of a recipe with changes, and runs them.
class Trials {
 public:
  /// Models in memory at a time, beside FP32.
  static constexpr std::size_t kTogether = 6;

  /// All arguments must live as long.
  Trials(const Executor& fp32, const Recipe& recipe, const Samples& samples,
         const SuggestOptions& options, AnswerOptions answers = {});

  /// The model of a change; null where there is none.
  [[nodiscard]] std::unique_ptr<Executor> model(const Change& change) const;
  /// What another method decides; null where it refuses. Needs SuggestOptions::statistics.
  [[nodiscard]] const CalibrationTable* table_by_method(const std::string& method) const;
  /// Fills in the noise of each. Runs FP32 anew for every six.
  void run(std::span<Trial> trials) const;
  /// Median times of the models of `changes`, which take turns with the recipe's own on the first
  /// image: theirs minus its own, run by run. Sets `base_seconds` to the recipe's own.
  [[nodiscard]] std::vector<MedianInterval> slower(std::span<const Change> changes,
                                                   double& base_seconds) const;

  /// Shapes of the inputs, in their order.
  [[nodiscard]] const std::vector<Shape>& shapes() const noexcept { return shapes_; }
  /// What the first image takes on one thread.
  struct Seconds {
    double fp32 = 0.0;
    double int8 = 0.0;  ///< of the recipe's own model; 0 where there is none
    double make = 0.0;  ///< to make and compile that model, once
  };
  [[nodiscard]] Seconds seconds_of_image() const;

 private:
  [[nodiscard]] std::vector<Tensor> first() const;
  [[nodiscard]] CalibrationTable table_of(const Change& change) const;
  [[nodiscard]] std::optional<Quantized> quantized(const Change& change) const;
  /// Measured once for each change that asks for them.
  [[nodiscard]] const BiasShifts& shifts_of(const Change& change, const CalibrationTable& table,
                                            const StaticOptions& options) const;
  void run_some(std::span<Trial> trials, std::size_t before, std::size_t all) const;

  const Executor& fp32_;
  const Recipe& recipe_;
  const Samples& samples_;
  const SuggestOptions& options_;
  AnswerOptions answers_;  ///< what the outputs mean, where they are more than scores per class
  std::vector<Shape> shapes_;
  /// The recipe's table with the scales of other weight methods, which may take seconds to choose.
  mutable std::map<std::string, CalibrationTable> by_weight_method_;
  mutable std::map<std::string, std::optional<CalibrationTable>> by_method_;
  mutable std::vector<std::pair<Change, BiasShifts>> by_correction_;
};

}  // namespace qtool
