#pragma once

#include "qtool/tensor/tensor.h"

namespace qtool {

/// Views a tensor of rank 2 or more, whose channels are its last axis, as an image with channels.
/// If the memory of the tensor is not in plain order, `copy` gets the elements in plain order and
/// the view refers to `copy`.
TensorView with_last_channels(const TensorView& tensor, Tensor& copy);

/// Views a tensor as images with channels on axis 1. A tensor becomes one channel of one image if
/// `one_channel` is true (its second axis is not the channels), or if it has no axes for images and
/// channels, such as a factor computed from the size of the image.
TensorView with_image_axes(const TensorView& tensor, bool one_channel);

}  // namespace qtool
