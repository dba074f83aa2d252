#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qtool/measure/detector.h"
#include "qtool/measure/mask.h"

namespace qtool {

/// What the outputs of a network mean, where they are more than one score per class.
struct AnswerOptions {
  std::optional<Detector> boxes{};
  std::optional<MaskRule> mask{};
  /// The outputs are images whose values reach up to this: see OutputError::psnr_db.
  std::optional<double> psnr_peak{};
};

/// What one model says of one image, as far as AnswerOptions ask for it.
struct Answer {
  std::vector<Box> boxes;  ///< best first
  std::optional<Mask> mask;
};

/// A box of each model that match with IoU 0.5 or more, or a box of one model alone.
struct BoxPair {
  std::optional<std::int64_t> fp32;  ///< index among the FP32 model's boxes
  std::optional<std::int64_t> int8;  ///< index among the INT8 model's boxes
  double iou = 0.0;                  ///< 0 for a box alone
};

/// How far the INT8 model's answers are those of the FP32 model, as far as AnswerOptions ask.
struct AnswerAgreement {
  std::optional<BoxAgreement> boxes;
  std::optional<MaskAgreement> mask;
};

}  // namespace qtool
