#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "qtool/graph/graph.h"

namespace qtool {

/// What an operator does with the real numbers that it reads.
enum class OpKind : std::uint8_t {
  kOther,          ///< nothing is known of it
  kConvolution,    ///< multiplies windows with weights and adds up
  kMatrixProduct,  ///< multiplies rows with weights, or with rows of another activation
  kRecurrent,      ///< matrix products over time, with a state
  kAveraging,      ///< averages, normalizes or ranks: reads integers, can write either kind
  kCombining,      ///< makes one tensor of several: all its inputs are activations
  kElementwise,    ///< a function of each element of input 0; on integers a table
  kMoving,         ///< moves or selects elements of input 0: quantizing before or after is the same
};

/// Where the element type of an operator's outputs comes from.
enum class TypeRule : std::uint8_t {
  kInput0,
  kInput1,
  kInput2,
  kInt32,
  kInt64,
  kBool,
  kIndicesBehind,   ///< that of input 0, then int64
  kMaskSecond,      ///< that of input 0, then bool
  kAttributeTo,     ///< the attribute `to` of Cast
  kAttributeDtype,  ///< the attribute `dtype`, or input 0
  kAttributeValue,  ///< the attribute `value` of ConstantOfShape, float32 without one
  kZeroPoint,       ///< input 2 of QuantizeLinear, uint8 without one
  kSubgraph,        ///< as the subgraph of an If, Loop or Scan declares
  kUInt8AndScale,   ///< DynamicQuantizeLinear: uint8, a float32 scale, uint8
};

/// The number of axes of output 0.
enum class RankRule : std::uint8_t {
  kUnknown,
  kInput0,           ///< as many as input 0 has
  kInput1,           ///< as many as input 1, the weights of a convolution, has
  kBroadcast,        ///< the larger one of those of inputs 0 and 1
  kOne,              ///< 1
  kTwo,              ///< 2
  kElementsOfInput1  ///< as many as the constant input 1 has elements
};

/// Which axis of the weights (input 1; input 2 is a bias) the output channels lie along.
enum class WeightAxis : std::uint8_t {
  kNone,      ///< it has no weights, or they stand elsewhere
  kFirst,     ///< 0
  kSecond,    ///< 1; a ConvTranspose with groups has those of one group there
  kByTransB,  ///< 1, or 0 where the attribute `transB` is set
};

/// What passes, placement, lowering and reports may ask about an operator of ONNX's own domain. A
/// row of operators.inc.
struct OpTraits {
  std::string_view op_type;
  bool runs = false;  ///< the executor has the operator
  OpKind kind = OpKind::kOther;
  TypeRule type = TypeRule::kInput0;
  RankRule rank = RankRule::kUnknown;
  WeightAxis weights = WeightAxis::kNone;
  bool counts_data = false;       ///< the data decides how many results there are
  std::uint8_t shape_inputs = 0;  ///< bit i: the numbers in input i decide the shape of the outputs
};

/// All rows, sorted by operator.
std::span<const OpTraits> all_op_traits() noexcept;

/// The row of an operator; one of defaults for an unknown operator or another domain.
const OpTraits& traits_of(std::string_view op_type, std::string_view domain = "") noexcept;
inline const OpTraits& traits_of(const Node& node) noexcept {
  return traits_of(node.op_type, node.domain);
}

/// Whether an operator adds up products.
constexpr bool is_product(OpKind kind) noexcept {
  return kind == OpKind::kConvolution || kind == OpKind::kMatrixProduct ||
         kind == OpKind::kRecurrent;
}

/// The axis of a node's weights that its output channels lie along; nothing without weights.
std::optional<std::int64_t> weight_axis(const Node& node);

}  // namespace qtool
