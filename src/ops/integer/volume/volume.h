#pragma once

#include <memory>

#include "ops/operator.h"
#include "ops/spatial.h"

// Integer operators on volumes, [N, C, D, H, W], which are never channels-last.
namespace qtool {

/// QConv over three axes. A slice of the result is the convolution of an image that has the
/// channels of all slices that the window covers. So the kernels for images compute it.
std::unique_ptr<Operator> make_volume_conv(const OpContext& op, const ConvGeometry& conv);

/// QConvTranspose over three axes. Each slice of the result is a transposed convolution of an image
/// that has the channels of all slices that its taps read.
std::unique_ptr<Operator> make_volume_conv_transpose(const OpContext& op,
                                                     const ConvGeometry& geometry);

/// QMaxPool and QAveragePool (requantized in float) over three axes.
std::unique_ptr<Operator> make_volume_max(const OpContext& op);
std::unique_ptr<Operator> make_volume_average(const OpContext& op);

/// QResize over one or three axes.
std::unique_ptr<Operator> make_volume_resize(const OpContext& op);

}  // namespace qtool
