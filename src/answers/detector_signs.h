#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "answers/box_decoder.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// By what the outputs of a family of detectors are recognised, beside what BoxDecoder and
/// misfit_of() demand. Rows that belong to cells of grids have their centres all over the input.
enum class DetectorSigns : std::uint8_t {
  kGrid,      ///< [N, rows, channels]: as many rows as the detector's own grid has
  kCells,     ///< likewise, or with the channels first: 1 to 3 rows for each cell of usual strides
  kMap,       ///< [N, channels, H, W], the only output; the classes of a cell sum to 1
  kHeads,     ///< [N, channels, H, W], one for each stride
  kPair,      ///< two outputs, [N, rows, 4] and [N, rows, classes]
  kFacePair,  ///< likewise, with two classes and as many rows as UltraFace has
  kBestRows,  ///< [N, up to 1000, 6], the only output: best first, with labels that are integers
};

/// What is wrong with the numbers of FP32 for one image, beside what misfit_of() finds, if the
/// outputs are those of a family with these signs; empty: nothing. `survey`: of `outputs`, which
/// are finite. Cost: O(rows * classes).
std::string misfit_by(DetectorSigns signs, const Detector& detector, const BoxSurvey& survey,
                      std::span<const TensorView> outputs);

}  // namespace qtool
