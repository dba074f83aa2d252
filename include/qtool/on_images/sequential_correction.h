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
  BiasShifts shifts;          ///< for StaticOptions::bias_shifts
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// How much quantizing shifts each output channel of each layer, measured on images layer by layer.
/// In the order of the graph, both networks run up to
/// the layer, the INT8 one with every layer before it corrected, and their results before the
/// activation are compared where the activation passes the FP32 value (see masked_shifts()). In
/// contrast to the correction from the table, this includes the effects of quantized activations,
/// of earlier layers and of padding. Layers that do not depend on each other share a run. `fp32`
/// holds the prepared graph that `table` belongs to; `collect` says how to read the images, its
/// tensors are ignored; the progress counts images over all runs. The result does not depend on the
/// number of threads. Throws as quantize() and collect() do. Cost: about half an FP32 and half an
/// INT8 inference and one decoded image per image and layer. Memory: as collect(), the results of
/// the layers of one run, and 16 bytes per output channel of these layers and waiting image.
/// Source: Nagel et al., arXiv 1906.04721, appendix D (empirical bias correction). Differs from
/// source: positions that the activation cuts off do not count, because rare large ones of them
/// move the plain mean while nothing behind the layer sees them.
ShiftsOnImages sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                      const StaticOptions& options, const Samples& samples,
                                      const CollectOptions& collect);

}  // namespace qtool
