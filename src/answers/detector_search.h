#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "answers/box_decoder.h"
#include "answers/detector_signs.h"
#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Finds the named detector to which the outputs of a network belong.
class DetectorSearch {
 public:
  /// `outputs` and `input` are those of a plan; `channels` says where the input has its channels.
  /// By their shapes they leave some detectors, or none.
  DetectorSearch(std::span<const PortInfo> outputs, const Shape& input, ChannelAxis channels);

  [[nodiscard]] bool has_candidates() const { return !candidates_.empty(); }
  /// Drops the detectors that do not fit the outputs of FP32 for the first image of a batch. Cost:
  /// O(rows * classes) for each that is left.
  void add(std::span<const TensorView> outputs);
  [[nodiscard]] RecognisedDetector result() const;

 private:
  struct Candidate {
    BoxDecoder decoder;
    DetectorSigns signs = DetectorSigns::kGrid;
    bool is_doubt = true;    // its misfit is said: few networks that are no detectors get here
    bool exchanged = false;  // boxes and scores, which have equal shapes, in the other order
    std::string misfit{};    // empty: fits all images
    std::int64_t boxes = 0;
  };
  std::vector<Candidate> candidates_;
  std::int64_t images_ = 0;
  bool are_maps_ = false;  // all outputs
  std::string unnamed_;    // see unnamed_boxes()
};

}  // namespace qtool
