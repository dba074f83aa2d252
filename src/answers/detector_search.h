#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "answers/box_decoder.h"
#include "qtool/answers/answer.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// By what the outputs of a family of detectors are recognised, beside what BoxDecoder and
/// misfit_of() demand. Rows that belong to cells of grids have their centres all over the input.
enum class DetectorSigns : std::uint8_t {
  kNone,      ///< not recognised, because another row of the list reads the same outputs
  kGrid,      ///< [N, rows, channels]: as many rows as the detector's own grid has
  kCells,     ///< likewise, or with the channels first: 1 to 3 rows for each cell of usual strides
  kMap,       ///< [N, channels, H, W], the only output; the classes of a cell sum to 1
  kHeads,     ///< [N, channels, H, W], one for each stride
  kPair,      ///< two outputs, [N, rows, 4] and [N, rows, classes]
  kBestRows,  ///< [N, up to 1000, 6], the only output: best first, with labels that are integers
};

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
    DetectorSigns signs = DetectorSigns::kNone;
    std::string misfit{};  // empty: fits all images
    std::int64_t boxes = 0;
  };
  std::vector<Candidate> candidates_;
  std::int64_t images_ = 0;
  std::string heads_;  // what the outputs are if they are heads without a name
};

}  // namespace qtool
