#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtool/quant/affine.h"

namespace qtool {

/// One scale and zero point per output channel of a weight, or one for the whole tensor.
enum class Granularity : std::uint8_t { kPerTensor, kPerChannel };

/// Types and weight method chosen by the user. What is not set follows the target.
struct TypeChoices {
  std::optional<std::string> weight_method;
  std::optional<int> weight_bits;
  std::optional<Granularity> weight_granularity;
  std::optional<Symmetry> weight_symmetry;
  std::optional<int> winograd_bits;  ///< of 3x3 convolutions, see Target::winograd_bits
  std::optional<DType> activation_dtype;
  std::optional<Symmetry> activation_symmetry;
  std::optional<int> activation_bits;

  [[nodiscard]] bool empty() const { return *this == TypeChoices(); }
  friend bool operator==(const TypeChoices&, const TypeChoices&) = default;
};

}  // namespace qtool
