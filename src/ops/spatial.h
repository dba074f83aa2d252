#pragma once

#include <cstdint>
#include <vector>

#include "ops/operator.h"

namespace qtool {

/// The sliding window of a convolution or pooling, with one entry per spatial axis. The attributes
/// are resolved for a concrete input: auto_pad and ceil_mode are already explicit padding.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;  ///< large enough for the last window (ceil_mode)
  std::vector<std::int64_t> output;    ///< spatial extents of the result
  friend bool operator==(const Window&, const Window&) = default;
};

/// Reads kernel_shape, strides, dilations, pads, auto_pad, ceil_mode of a node. `input` is the
/// shape [N, C, spatial...]; `kernel` overrides kernel_shape when not empty (a convolution reads it
/// from its weights). Throws Error(kInvalidModel) for contradictions. Source: ONNX Conv, MaxPool,
/// AveragePool.
Window resolve_window(const OpContext& op, const Shape& input,
                      const std::vector<std::int64_t>& kernel);

/// The number of input elements from the first tap of a window along one axis to the last tap,
/// including both. Throws Error(kInvalidModel) above 2^24: no real network has such extents, and
/// products of smaller extents never overflow. `dilation` must be 1 to 2^24.
std::int64_t reach_of(const OpContext& op, std::int64_t kernel, std::int64_t dilation);

/// Whether a pooling node slides a window or takes each image whole.
enum class PoolExtent : std::uint8_t { kWindow, kGlobal };

/// The window of a pooling node. A global pooling has the whole image as its window. Throws
/// Error(kInvalidModel) unless input 0 is [N, C, 1 to 3 spatial axes] with elements.
Window pool_window(const OpContext& op, PoolExtent extent);

/// [N, C, spatial extents of the result].
Shape pooled_shape(const Shape& input, const Window& window);

/// The window, the groups and the output shape of a Conv or ConvTranspose node for concrete shapes.
struct ConvGeometry {
  Window window;
  std::int64_t groups = 1;
  Shape output;  ///< [N, M, spatial...]
};

/// Reads a Conv node against its input [N, C, spatial...] and weights [M, C / groups, kernel...].
/// Throws Error(kInvalidModel) for contradictions.
ConvGeometry resolve_conv(const OpContext& op, const Shape& input, const Shape& weights);

/// Reads a ConvTranspose node against its input and weights. It is the gradient of a convolution:
/// input element i adds its products with the taps k to output element i stride - pads_begin + k
/// dilation. Outputs that no tap reaches hold the bias. pads_end tells where the last tap ends. It
/// is negative when outputs follow behind the last tap. `input` [N, C, spatial...], `weights` [C, M
/// / groups, kernel...]. Throws Error(kInvalidModel) for contradictions. Source: ONNX
/// ConvTranspose. ONNX does not define an output_shape beyond the last tap. As in ONNX Runtime,
/// nothing is cut off then.
ConvGeometry resolve_conv_transpose(const OpContext& op, const Shape& input, const Shape& weights);

/// Writes the extents and steps of a window into a kernel's shape. When there are three axes, only
/// the last two are written.
template <typename KernelShape>
void set_window(const Shape& input, const Window& window, KernelShape& shape) {
  shape.batch = input[0];
  const std::size_t y = window.output.size() - 2;
  const std::size_t x = y + 1;
  shape.in_h = input[input.rank() - 2];
  shape.in_w = input[input.rank() - 1];
  shape.out_h = window.output[y];
  shape.out_w = window.output[x];
  shape.stride_h = window.strides[y];
  shape.stride_w = window.strides[x];
  shape.dilation_h = window.dilations[y];
  shape.dilation_w = window.dilations[x];
  shape.pad_top = window.pads_begin[y];
  shape.pad_left = window.pads_begin[x];
}

}  // namespace qtool
