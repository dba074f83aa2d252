#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/quant/affine.h"

namespace qtool {

/// How a back-end treats operators that only move or select values, when they stand between Q/DQ
/// pairs.
enum class Movers : std::uint8_t {
  kShareAffine,  ///< they move integers: input 0 and all outputs share one scale and zero point
  kCommute,      ///< the back-end moves pairs across them by itself and asks for none
};

/// How a quantized model stores its constants.
enum class ConstantForm : std::uint8_t {
  kIntegers,  ///< integers behind a DequantizeLinear, biases as int32
  kReals,     ///< FP32 behind a QuantizeLinear and a DequantizeLinear, biases as they are
};

/// How a quantized model writes what computes on integers.
enum class ModelForm : std::uint8_t {
  kQdq,        ///< operators on reals between DequantizeLinear and QuantizeLinear
  kQOperator,  ///< operators that take and give integers, such as QLinearConv
};

/// `qdq`, `qoperator`.
std::string_view name_of(ModelForm form) noexcept;
/// The form called `name`; nothing for another name.
std::optional<ModelForm> find_model_form(std::string_view name) noexcept;

/// A scale and zero point that the results of an operator always have.
struct FixedResult {
  std::string_view op_type;
  Affine affine;
};

/// What a back-end that runs quantized models accepts, as data. Operators are ONNX's own, at
/// opset 13 or later.
struct Target {
  std::string_view name;
  std::string_view description;
  Scheme activations;
  Scheme weights;
  Granularity weight_granularity = Granularity::kPerChannel;
  /// Operators whose weights share one scale whatever `weight_granularity` says.
  std::vector<std::string_view> per_tensor_weight_ops;
  std::string weight_method = "absmax";  ///< see find_weight_method()
  /// Bits of the weights of 3x3 convolutions of stride and dilation 1 without groups, where they
  /// differ: a Winograd F(4,3) kernel on int8 needs head-room and takes 6.
  std::optional<int> winograd_bits;
  /// Whether weights may have zero points.
  std::vector<Symmetry> weight_symmetries = {Symmetry::kSymmetric};
  ConstantForm constants = ConstantForm::kIntegers;
  std::vector<ModelForm> forms = {ModelForm::kQdq};  ///< in which it takes a model
  std::vector<std::string_view> ops;                 ///< every operator it runs on integers
  Movers movers = Movers::kShareAffine;
  /// Operators beside those that move values whose result has the scale and zero point of its
  /// input.
  std::vector<std::string_view> same_affine_ops;
  /// What the back-end prescribes whatever the table says; for 8-bit activations of its own type.
  std::vector<FixedResult> fixed_results;

  /// Activations that run inside their producer, with no pair in between.
  std::vector<std::string_view> fused_activations;
  std::vector<std::string_view> fusing_producers;
  /// Operators into which a following Add is fused: their result, one operand of the Add, gets no
  /// pair, because it is added before it is rounded; only the other operand, the shortcut, does.
  std::vector<std::string_view> residual_producers;
  /// Whether it runs nodes that compute a function of each single element, such as SiLU spelled as
  /// Sigmoid and Mul, as one table: their constants stay real and no tensor inside gets a pair.
  bool fuses_functions = false;
  /// Whether single tensors may keep 16 bits, see StaticOptions::wide. The sum of both bytes'
  /// results has no pair, as with residual_producers.
  bool wide_activations = false;
  /// Whether it rounds what a linear Resize makes of bytes. ONNX Runtime cuts the fractions off.
  bool interpolates = false;
  /// Operators whose integer kernel writes integers only. Inside the network their results get a
  /// pair, even if only FP32 nodes read them. Graph outputs do not: an FP32 result is more precise.
  std::vector<std::string_view> integer_result_ops;
  /// Operators that run on integers only when the DequantizeLinear of their weights has explicit
  /// zero points, all 0. Otherwise these are left out, which saves a byte per channel.
  std::vector<std::string_view> explicit_zero_ops;
  /// Spatial axes of the convolutions it runs on integers.
  std::vector<std::int64_t> conv_spatial_axes;
  /// The inputs and the output of a Concat share one range when each input's own range is at least
  /// this share of it (0.5: one bit lost at most).
  double concat_min_share = 0.5;

  /// Whether the target runs an operator on integers.
  [[nodiscard]] bool runs(std::string_view op_type) const noexcept;
  [[nodiscard]] bool fuses(std::string_view producer, std::string_view activation) const noexcept;
  /// The granularity of an operator's weights.
  [[nodiscard]] Granularity granularity_of(std::string_view op_type) const noexcept;
  [[nodiscard]] bool takes(ModelForm form) const noexcept;
  /// What it prescribes for the results of an operator; null where that is free.
  [[nodiscard]] const Affine* fixed_result(std::string_view op_type) const& noexcept;
  const Affine* fixed_result(std::string_view op_type) const&& = delete;
};

/// All targets, sorted by name; `cpu` is the default.
std::span<const Target> targets();

/// The target called `name`. Throws Error(kUsage) with the nearest names.
const Target& find_target(std::string_view name);

/// The target, with the types that `choices` sets instead of its own. Throws Error(kUsage) for an
/// unknown weight method, bits outside 2 to 8, or asymmetric weights where it takes none.
Target with_choices(Target target, const TypeChoices& choices);

inline constexpr std::string_view kDefaultTarget = "cpu";

}  // namespace qtool
