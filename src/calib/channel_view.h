#pragma once

#include "qtool/tensor/tensor.h"

namespace qtool {

/// A tensor of rank 2 or more whose channels are its last axis, as an image with channels. Where
/// its memory has them in another order, `copy` holds it in the plain one.
TensorView with_last_channels(const TensorView& tensor, Tensor& copy);

/// Tensors without axes for images and channels (such as a factor computed from the image's size)
/// are treated as one channel of one image, and so are those whose second axis is not channels.
TensorView with_image_axes(const TensorView& tensor, bool one_channel);

}  // namespace qtool
