#pragma once

#include "lower/clusters.h"

// The passes of lower(), in their order, one file per family. Each walks over the nodes once.
namespace qtool {

/// Constants behind a QuantizeLinear become integers: the form TensorRT stores weights in.
void fold_quantized_constants(Clusters& clusters);
/// s8 activations become u8 ones with a zero point 128 higher: kernels know u8 only.
void relabel_signed_activations(Clusters& clusters);
/// Convolutions and pools over one axis become those of images with an axis of extent 1.
void lift_rows(Clusters& clusters);
/// Moves DequantizeLinear after operators that only move elements; these then run on bytes.
void sink_dequantize(Clusters& clusters);
/// The two bytes of tensors that keep 16 bits, in one step.
void quantize_wide_tensors(Clusters& clusters);
/// Conv, ConvTranspose, Gemm and MatMul with constant integer weights.
void lower_products(Clusters& clusters);
/// The sum of two products that end in reals, as the bytes of such a tensor make them: the second
/// one begins with the first one's result.
void add_wide_products(Clusters& clusters);
/// LSTM, GRU and RNN with constant integer weights; the scale of their input may be measured.
void lower_recurrent(Clusters& clusters);
/// Functions of one element: one node, or several such as the Sigmoid and Mul of SiLU.
void lower_functions(Clusters& clusters);
/// Sums, products, concatenations, averages.
void lower_elementwise(Clusters& clusters);
/// The remaining QuantizeLinear and DequantizeLinear nodes.
void lower_edges(Clusters& clusters);
/// Marks ConvInteger and MatMulInteger as integer work.
void mark_integer_products(Clusters& clusters);

/// In FP32: fuses a residual Add into the convolution before it, and Relu and Clip into the
/// operator before them.
void fuse_float(ShapedGraph& shaped);
/// Element-wise functions in FP32 that nobody reads between become one operator, as GELU, SiLU and
/// Mish are spelt out by exporters. The result has the same bits.
void fuse_chains(ShapedGraph& shaped);

}  // namespace qtool
