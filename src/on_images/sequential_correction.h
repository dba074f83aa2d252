#pragma once

#include <vector>

#include "qtool/calib/collect.h"
#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

/// The result of sequential_bias_shifts().
struct ShiftsOnImages {
  BiasShifts shifts;          ///< for Learned::bias_shifts
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// Measures on images by how much quantization shifts each output channel of each layer. The layers
/// are measured in the order of the graph. Both networks run up to the layer. In the INT8 network,
/// every layer before it is corrected already. The results before the activation are compared at
/// the positions where the activation passes the FP32 value (see masked_shifts()). Unlike the
/// correction from the table, this includes the effects of quantized activations, of earlier layers
/// and of padding. Layers that do not depend on each other share a run.
/// `fp32` holds the prepared graph that `table` belongs to. `collect` says how to read the images;
/// its tensors are ignored. The progress counts images over all runs. The result does not depend on
/// the number of threads. Throws as quantize() and collect() do.
/// Cost: about two FP32 and two INT8 inferences and one decoded image per image; see
/// NetworkByDepth. Memory: as collect(), plus 240 MiB of tensors, the integers and the real numbers
/// of all weights, the results of the layers of one run, and 16 bytes per output channel of these
/// layers for each image that waits for an earlier one.
///
/// Source: Nagel et al., arXiv 1906.04721, appendix D (empirical bias correction). Differs from
/// source: positions that the activation cuts off do not count, because rare large values at such
/// positions move the plain mean although no later layer sees them.
ShiftsOnImages sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                      const StaticOptions& options, const Learned& learned,
                                      const Samples& samples, const CollectOptions& collect);

}  // namespace qtool
