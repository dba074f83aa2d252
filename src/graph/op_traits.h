#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "qtool/graph/graph.h"

namespace qtool {

/// The kind of computation that an operator performs on the real numbers that it reads.
enum class OpKind : std::uint8_t {
  kOther,          ///< unknown
  kConvolution,    ///< multiplies windows with weights and adds up the products
  kMatrixProduct,  ///< multiplies rows with weights, or with rows of another activation
  kRecurrent,      ///< matrix products over time, with a state
  kAveraging,      ///< averages, normalizes or ranks; reads integers, writes integers or floats
  kCombining,      ///< combines several tensors into one; all its inputs are activations
  kElementwise,    ///< a function of each element of input 0; on integers a lookup table
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
  kIndicesBehind,   ///< the type of input 0 for output 0, int64 for the others
  kMaskSecond,      ///< the type of input 0 for output 0, bool for output 1
  kAttributeTo,     ///< the attribute `to` of Cast
  kAttributeDtype,  ///< the attribute `dtype`, or the type of input 0 without one
  kAttributeValue,  ///< the type of `value` of ConstantOfShape, float32 without one
  kZeroPoint,       ///< the type of input 2 of QuantizeLinear, uint8 without one
  kSubgraph,        ///< the types that the subgraph of an If, Loop or Scan declares
  kUInt8AndScale,   ///< DynamicQuantizeLinear: uint8, a float32 scale, uint8
};

/// Where the rank (the number of axes) of output 0 comes from.
enum class RankRule : std::uint8_t {
  kUnknown,
  kInput0,           ///< the rank of input 0
  kInput1,           ///< the rank of input 1, the weights of a convolution
  kBroadcast,        ///< the larger of the ranks of inputs 0 and 1
  kOne,              ///< 1
  kTwo,              ///< 2
  kElementsOfInput1  ///< the number of elements of the constant input 1
};

/// The axis of the weights that the output channels lie along. The weights are input 1; input 2 is
/// a bias.
enum class WeightAxis : std::uint8_t {
  kNone,      ///< the operator has no weights, or they are not input 1
  kFirst,     ///< 0
  kSecond,    ///< 1; for a ConvTranspose with groups, the channels of one group
  kByTransB,  ///< 1, or 0 where the attribute `transB` is set
};

/// Whether the channels of an operator's result are those of input 0: multiplying a channel of the
/// input by a positive number multiplies that channel of the result by the same number.
enum class ChannelRule : std::uint8_t {
  kNo,
  kAlways,    ///< along any axis
  kOfImages,  ///< along axis 1, if input and result have four axes and equally many channels
};

/// The inputs and outputs that an operator takes, from the opset `since` on. One character stands
/// for each operand, in order: `1` is required, `?` may be left out, `+` stands for one or more
/// operands, `*` for any number of operands.
struct Arity {
  std::int64_t since = 1;
  std::string_view inputs;
  std::string_view outputs;

  /// Whether the number of inputs has no upper limit.
  [[nodiscard]] constexpr bool is_open() const noexcept {
    return inputs.ends_with('+') || inputs.ends_with('*');
  }
};

/// An attribute that is newer than the canonical opset and has no equivalent in it, so that
/// upgrade_opset() keeps it. A graph that holds it is saved in the opset `since` or a newer one.
struct NewerAttribute {
  std::string_view name;
  std::string_view value;  ///< with this value; empty: with any value
  std::int64_t since = 0;
};

/// Up to N elements.
template <typename T, std::size_t N>
class UpTo {
 public:
  constexpr UpTo() = default;
  constexpr UpTo(std::initializer_list<T> elements) {
    for (const T& element : elements) elements_.at(size_++) = element;
  }
  [[nodiscard]] constexpr const T* begin() const noexcept { return elements_.data(); }
  [[nodiscard]] constexpr const T* end() const noexcept { return elements_.data() + size_; }

 private:
  std::array<T, N> elements_{};
  std::size_t size_ = 0;
};

/// The facts about an operator of ONNX's own domain that passes, placement, lowering and reports
/// need. One row of operators.inc.
struct OpTraits {
  std::string_view op_type;
  bool runs = false;  ///< the executor has the operator
  OpKind kind = OpKind::kOther;
  TypeRule type = TypeRule::kInput0;
  RankRule rank = RankRule::kUnknown;
  WeightAxis weights = WeightAxis::kNone;
  bool counts_data = false;       ///< the number of results depends on the data
  std::uint8_t shape_inputs = 0;  ///< bit i: the numbers in input i decide the shape of the outputs
  /// Its result has neither steps nor poles. So if an 8-bit input changes by one step, the result
  /// changes by a few steps at most.
  bool is_smooth = false;
  bool takes_pairs = false;  ///< computes each element from one element of each of two inputs
  ChannelRule keeps_channels = ChannelRule::kNo;
  UpTo<Arity, 3> arity{};  ///< by opset; empty: any operands
  UpTo<NewerAttribute, 4> newer{};
};

/// All rows, sorted by operator.
std::span<const OpTraits> all_op_traits() noexcept;

/// The row of an operator; for an unknown operator or another domain, a row of default values.
const OpTraits& traits_of(std::string_view op_type, std::string_view domain = "") noexcept;
inline const OpTraits& traits_of(const Node& node) noexcept {
  return traits_of(node.op_type, node.domain);
}

/// Whether a node only moves or selects elements of its input 0: quantizing before or after it is
/// the same. A Resize that interpolates does not.
[[nodiscard]] bool only_moves(const Node& node);

/// Whether an operator adds up products.
constexpr bool is_product(OpKind kind) noexcept {
  return kind == OpKind::kConvolution || kind == OpKind::kMatrixProduct ||
         kind == OpKind::kRecurrent;
}

/// Whether input 2 of an operator with weights is a bias for its output channels, in its newest
/// form.
constexpr bool has_bias_input(const OpTraits& traits) noexcept {
  if (traits.weights == WeightAxis::kNone || traits.arity.begin() == traits.arity.end()) {
    return false;
  }
  return (traits.arity.end() - 1)->inputs.size() > 2;
}

/// The axis of a node's weights that its output channels lie along; std::nullopt without weights.
std::optional<std::int64_t> weight_axis(const Node& node);

}  // namespace qtool
