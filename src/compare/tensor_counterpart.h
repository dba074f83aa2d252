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
  std::optional<Affines> affines;  ///< set when the tensor holds integers
};

/// The counterpart of tensor `name` of the FP32 network. It is the first of these that the INT8
/// model has: the integers from which the tensor is dequantized, the integers that a QuantizeLinear
/// makes of it, or the tensor called `name`. A tensor in 16 bits has two bytes per element, so its
/// counterpart is the tensor called `name`. nullopt where the INT8 model has none of these. Both
/// graphs must be prepared. Cost: linear in the readers.
std::optional<Counterpart> counterpart_of(const Graph& int8, std::string_view name,
                                          const Graph& fp32);

/// The reals of `integers`: real = scale * (q - zero_point), with the scale and zero point of each
/// index of the axis. Throws Error(kInvalidModel), which names the tensor, when the number of
/// scales is not the extent of the axis.
Tensor dequantized(const Tensor& integers, const Affines& affines, const std::string& name);

}  // namespace qtool
