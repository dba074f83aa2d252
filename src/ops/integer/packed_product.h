#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "ops/integer/fixed_point.h"
#include "ops/operator.h"

// Shared by the integer products with constant weights: QConv, QConvTranspose, QGemm and
// QConvChain. In the first three, the weights are input 1, and the int32 bias is input 2.
namespace qtool {

/// The extents of the weights that a kernel is packed for.
struct ProductExtents {
  std::int64_t out_channels, in_channels, kernel_h, kernel_w, groups;
};

/// The element type of the result: uint8, or float32 without a
/// quantized result.
DType product_type(const OpContext& op);

/// Whether the kernel stores int32 sums, which are then requantized with integers only.
bool requantizes_sums(const OpContext& op);

/// The packed convolution with the weights `values`, [out][in / groups][kernel_h][kernel_w], and
/// the node's bias and epilogue, shared with the other plans of the executor. `part` tells packs of
/// the same weights apart.
std::shared_ptr<const PackedConv> pack_product(const OpContext& op, const ProductExtents& extents,
                                               std::string_view part,
                                               std::span<const std::int8_t> values);

/// One product of a node that may have several.
struct ProductPart {
  const QProductParams& params;
  std::size_t weights = 1;  ///< index of the input that holds its weights; the next one is the bias
};

/// As above, for one product of a node.
std::shared_ptr<const PackedConv> pack_product(const OpContext& op, const ProductPart& product,
                                               const ProductExtents& extents, std::string_view part,
                                               std::span<const std::int8_t> values);

/// Requantizes the sums to bytes. Only for nodes with requantizes_sums().
FixedOutput fixed_output(const OpContext& op, std::int64_t channels);

}  // namespace qtool
