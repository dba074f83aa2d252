#pragma once

#include "qtool/calib/collect.h"
#include "qtool/exec/executor.h"
#include "qtool/image/image_set.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// What quantizing shifts the mean of each output channel of each layer by, measured on images
/// layer by layer: BiasShifts for StaticOptions::bias_shifts.
/// The FP32 network runs once and gives E[y_c] of the result of every convolution and Gemm, before
/// its activation. Then, in the order of the graph, the INT8 network runs up to the layer, with
/// every layer before it corrected, and the shift is E_int8[y_c] - E_fp32[y_c]. In contrast to the
/// correction from the table this sees what quantized activations and earlier layers contribute,
/// and padding. Layers that do not depend on each other share a run. `fp32` holds the prepared
/// graph that `table` belongs to; `collect` says how to read the images, its tensors are ignored;
/// the progress counts images over all runs. The result does not depend on the number of threads.
/// Throws as quantize() and collect() do. Cost: about half an INT8 inference and one decoded
/// image per image and layer. Memory: as collect(). Source: Nagel et al., arXiv 1906.04721,
/// appendix D (empirical bias correction).
BiasShifts sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                  const StaticOptions& options, const ImageSet& images,
                                  const CollectOptions& collect);

}  // namespace qtool
