#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/target.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// check_set() refuses fewer samples: it compares two halves of two each.
inline constexpr std::int64_t kFewestToCheck = 4;

/// How much the range of a tensor differs between the two halves of the samples.
struct RangeMove {
  std::string tensor;
  double move = 0.0;     ///< difference of the scales / the larger scale
  double loss_db = 0.0;  ///< SQNR lost with the range of the other half; mean of both halves
};

/// A single sample that makes ranges wider.
struct RangeSetter {
  std::int64_t sample = 0;   ///< index in the list
  std::int64_t tensors = 0;  ///< tensors that it makes at least kMinWidening times as wide
  std::string widest;        ///< the tensor that it widens most
  double widening = 1.0;     ///< of `widest`: width with the sample / width without
};

inline constexpr double kMinWidening = 1.1;

/// Two samples with nearly the same ranges in the network.
struct Twins {
  std::int64_t first = 0;  ///< indices in the list
  std::int64_t second = 0;
  double distance = 0.0;  ///< 0: all ranges are equal; average of all pairs: sqrt(2)
};

/// Only the first samples, up to this number, take part in the search for twins.
inline constexpr std::int64_t kMaxTwinSamples = 2048;
inline constexpr double kMaxTwinDistance = 0.15;
/// With fewer bounds of ranges, samples cannot be told apart. Then only equal samples are twins.
inline constexpr std::size_t kMinTwinBounds = 16;
/// Two samples are copies if all their bounds are equal and at least this number of bounds is not
/// 0.
inline constexpr std::size_t kMinEqualBounds = 4;
/// With a larger share of copies, both halves hold the same samples, so their agreement says
/// nothing.
inline constexpr double kMaxCopies = 0.1;

/// Scales that differ by more than this have moved.
inline constexpr double kMinMove = 0.05;
/// There are enough samples when the expected loss of the whole set is at most kMaxMedianLossDb in
/// the median tensor, and at most kMaxTailLossDb in 95 % of the tensors.
inline constexpr double kMaxMedianLossDb = 0.1;
inline constexpr double kMaxTailLossDb = 1.0;

/// How good a set of samples is for calibration.
struct SetCheck {
  std::int64_t samples = 0;          ///< samples that were observed
  std::int64_t distinct = 0;         ///< observed samples that are not twins of earlier ones
  std::vector<RangeMove> moves;      ///< the largest loss first
  std::vector<RangeSetter> setters;  ///< the most tensors first
  std::vector<Twins> twins;          ///< the closest first
  std::vector<BadImage> bad;

  [[nodiscard]] std::int64_t moved() const;  ///< number of tensors whose scale moved
  /// The loss of a half that is not exceeded in `share` (0 to 1) of the tensors.
  [[nodiscard]] double loss_db(double share) const;
  /// The expected loss of the ranges of the whole set, compared with ranges from very many samples:
  /// a quarter of loss_db(). Two halves differ by twice the standard error of the whole set, and
  /// the noise grows with the square of the difference.
  [[nodiscard]] double expected_loss_db(double share) const { return loss_db(share) / 4.0; }
  /// Whether so many samples are copies that the halves are not independent.
  [[nodiscard]] bool is_full_of_copies() const {
    return static_cast<double>(samples - distinct) > kMaxCopies * static_cast<double>(samples);
  }
  [[nodiscard]] bool is_enough() const;
};

/// Calibrates on every second sample and on the other samples, and compares the two halves.
/// `target`: the target of the calibration. Each sample is in one half only. So the results show
/// how much the ranges depend on chance in a set of half the size. In the whole set they depend on
/// it less. The result does not depend on the number of threads. Throws as Calibration does, and
/// Error(kUsage) for fewer than four samples. Cost: one calibration, and O(samples^2 * tensors) for
/// the twins.
SetCheck check_set(const Calibration& calibration, const Target& target, const Samples& samples);

}  // namespace qtool
