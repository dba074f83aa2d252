#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/target.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// A tensor whose range was decided from either half of the samples.
struct RangeMove {
  std::string tensor;
  double move = 0.0;     ///< of the scale, relative to the larger one of both
  double loss_db = 0.0;  ///< SQNR that a half loses with the range of the other; mean of both ways
};

/// A sample that alone makes ranges wider.
struct RangeSetter {
  std::int64_t sample = 0;   ///< index in the list
  std::int64_t tensors = 0;  ///< whose range is at least kMinWidening times as wide with it
  std::string widest;        ///< the one that it widens most
  double widening = 1.0;     ///< of that one: width with the sample / width without
};

inline constexpr double kMinWidening = 1.1;

/// Two samples in which the network sees nearly the same.
struct Twins {
  std::int64_t first = 0;  ///< indices in the list
  std::int64_t second = 0;
  double distance = 0.0;  ///< 0: every range is the same; sqrt(2) on average for two samples
};

/// Samples of which each takes part in the search for twins. Of more, the first ones do.
inline constexpr std::int64_t kMaxTwinSamples = 2048;
inline constexpr double kMaxTwinDistance = 0.15;
/// Fewer bounds of ranges do not tell samples apart: then only equal ones are twins.
inline constexpr std::size_t kMinTwinBounds = 16;
/// Samples with so many bounds other than 0 that all are the same are copies.
inline constexpr std::size_t kMinEqualBounds = 4;
/// With a larger share of copies the halves hold the same samples, and their agreement says
/// nothing.
inline constexpr double kMaxCopies = 0.1;

/// Scales that differ by more than this have moved.
inline constexpr double kMinMove = 0.05;
/// There are enough samples when the whole set is expected to lose at most the first figure in the
/// median tensor, and the second one in 95 % of the tensors.
inline constexpr double kMaxMedianLossDb = 0.1;
inline constexpr double kMaxTailLossDb = 1.0;

/// What a set of samples is worth for calibration.
struct SetCheck {
  std::int64_t samples = 0;          ///< that were observed
  std::int64_t distinct = 0;         ///< of these, without those that are twins of earlier ones
  std::vector<RangeMove> moves;      ///< the largest loss first
  std::vector<RangeSetter> setters;  ///< the most tensors first
  std::vector<Twins> twins;          ///< the closest first
  std::vector<BadImage> bad;

  [[nodiscard]] std::int64_t moved() const;  ///< number of tensors whose scale moved
  /// The loss of a half that `share` of the tensors do not exceed.
  [[nodiscard]] double loss_db(double share) const;
  /// What the ranges of the whole set are expected to lose to those of very many samples: a
  /// quarter. Two halves differ by twice the standard error of the whole, and noise grows with the
  /// square.
  [[nodiscard]] double expected_loss_db(double share) const { return loss_db(share) / 4.0; }
  /// Whether so many samples are copies that the halves are not independent.
  [[nodiscard]] bool is_full_of_copies() const {
    return static_cast<double>(samples - distinct) > kMaxCopies * static_cast<double>(samples);
  }
  [[nodiscard]] bool is_enough() const;
};

/// Calibrates on every second sample and on the others, and compares. `target`: that of the
/// calibration. A sample takes part in one half; so the figures say how much the ranges owe to
/// chance in a set of half the size, which is more than in the whole set. The result does not
/// depend on the number of threads. Throws as Calibration does, and Error(kUsage) for fewer than
/// four samples. Cost: as calibrating once, and, for twins, the square of the number of samples
/// times that of tensors.
SetCheck check_set(const Calibration& calibration, const Target& target, const Samples& samples);

}  // namespace qtool
