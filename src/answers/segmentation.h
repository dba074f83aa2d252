#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// Reads the classes of pixels from one output of a plan, by a rule.
class MaskReader {
 public:
  /// Throws Error(kMismatch) when the output is not a map [N, C, H, W], [N, H, W, C] (as `axis`
  /// says) or [N, H, W], or when its number of channels does not suit the rule.
  MaskReader(const MaskRule& rule, const PortInfo& output, ChannelAxis axis);

  /// The classes of one image's part of the output. Cost: one pass.
  [[nodiscard]] Mask read(std::span<const float> output) const;

 private:
  MaskRule rule_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::int64_t channels_ = 0;
  std::int64_t pixel_step_ = 0;
  std::int64_t channel_step_ = 0;
};

/// Counts equal pixels over images. Neither the order of the images nor how they were shared among
/// scorers changes the result.
class MaskScorer {
 public:
  /// Adds the masks of one image. Returns their agreement, in this image alone. Throws
  /// Error(kMismatch) when the masks differ in size.
  MaskAgreement add(const Mask& fp32, const Mask& int8);
  MaskScorer& operator+=(const MaskScorer& other);
  [[nodiscard]] MaskAgreement result() const;

 private:
  MaskAgreement sums_;  ///< its `classes` stay empty
  std::map<std::int32_t, ClassPixels> classes_;
};

}  // namespace qtool
