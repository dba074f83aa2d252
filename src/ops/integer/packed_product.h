#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "ops/integer/fixed_point.h"
#include "ops/operator.h"

// What the integer products with constant weights share: QConv, QConvTranspose and QGemm, whose
// weights are input 1 and whose bias, int32, is input 2.
namespace qtool {

/// The extents of the weights that a kernel is packed for.
struct ProductExtents {
  std::int64_t out_channels, in_channels, kernel_h, kernel_w, groups;
};

/// uint8, or float32 without a quantized result.
DType product_type(const OpContext& op);

/// Whether the kernel stores int32 sums, which are then requantized with integers only.
bool requantizes_sums(const OpContext& op);

/// A convolution of `values`, [out][in / groups][kernel_h][kernel_w], with the node's bias and
/// epilogue, shared with the other plans of the executor. `part` tells apart what is made of the
/// same weights.
std::shared_ptr<const PackedConv> pack_product(const OpContext& op, const ProductExtents& extents,
                                               std::string_view part,
                                               std::span<const std::int8_t> values);

/// From sums to bytes, where requantizes_sums().
FixedOutput fixed_output(const OpContext& op, std::int64_t channels);

}  // namespace qtool
