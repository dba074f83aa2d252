#pragma once

#include "lower/qdq_clusters.h"

// The passes of lower(), in their order, one file per family. Each walks over the nodes once.
namespace qtool {

/// Constants behind a QuantizeLinear become integers: the form TensorRT stores weights in.
void fold_quantized_constants(Clusters& clusters);
/// s8 activations become u8 ones with a zero point 128 higher: kernels take u8 only.
void relabel_signed_activations(Clusters& clusters);
/// Convolutions and pools over one axis become convolutions and pools of images, with an added axis
/// of extent 1.
void lift_rows(Clusters& clusters);
/// Moves DequantizeLinear after operators that only move elements; these then run on bytes.
void sink_dequantize(Clusters& clusters);
/// One step computes both bytes of a tensor that keeps 16 bits.
void quantize_wide_tensors(Clusters& clusters);
/// Conv, ConvTranspose, Gemm and MatMul with constant integer weights.
void lower_products(Clusters& clusters);
/// Adds the real results of two integer products, such as the products of the two bytes of a 16-bit
/// tensor: the second product starts from the result of the first one.
void add_wide_products(Clusters& clusters);
/// LSTM, GRU and RNN with constant integer weights; the scale of the input may be measured at run
/// time.
void lower_recurrent(Clusters& clusters);
/// Functions of one element: one node, or several such as the Sigmoid and Mul of SiLU.
void lower_functions(Clusters& clusters);
/// Sums, products, concatenations, averages.
void lower_elementwise(Clusters& clusters);
/// Operators of bytes that depend on one tensor only.
void join_tables(Clusters& clusters);
/// The remaining QuantizeLinear and DequantizeLinear nodes.
void lower_edges(Clusters& clusters);
/// Marks ConvInteger and MatMulInteger as integer work.
void mark_integer_products(Clusters& clusters);

/// An integer convolution with a real result, a LeakyRelu or PRelu behind it, and the rounding of
/// their result become one operator, which may also add a shortcut.
void fuse_conv_slopes(ShapedGraph& shaped);
/// An integer convolution with a real result, the functions behind it, and the rounding of their
/// result become one operator, which never stores the real numbers.
void fuse_conv_chains(ShapedGraph& shaped);
/// In FP32: fuses a residual Add into the convolution before it, and activations such as Relu and
/// Clip into the operator before them.
void fuse_float(ShapedGraph& shaped);
/// In FP32: several element-wise nodes become one operator when no other node reads the tensors
/// between them. The result has the same bits.
void fuse_chains(ShapedGraph& shaped);

}  // namespace qtool
