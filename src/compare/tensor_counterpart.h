#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The tensor of the INT8 model that stands for one of the FP32 network.
struct Counterpart {
  std::string name;
  std::optional<Affines> affines;  ///< it holds integers
};

/// The counterpart of tensor `name` of the FP32 network: the integers that a QuantizeLinear makes
/// of it, or those that it is dequantized from, or the tensor of that name; nothing where there is
/// none, and of a tensor in 16 bits, which are two. Both graphs are prepared. Cost: linear in the
/// readers.
std::optional<Counterpart> counterpart_of(const Graph& int8, std::string_view name,
                                          const Graph& fp32);

/// real = scale * (q - zero_point), for each index of the axis. Throws Error(kInvalidModel), which
/// names the tensor, when there is another number of scales.
Tensor dequantized(const Tensor& integers, const Affines& affines, const std::string& name);

}  // namespace qtool
