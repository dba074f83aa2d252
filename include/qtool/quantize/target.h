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
  kCommute,      ///< the back-end moves pairs across them by itself and needs none there
};

/// How a quantized model stores its constants.
enum class ConstantForm : std::uint8_t {
  kIntegers,  ///< integers followed by a DequantizeLinear, biases as int32
  kReals,     ///< FP32 followed by a QuantizeLinear and a DequantizeLinear, biases in FP32
};

/// How a quantized model writes the operators that compute on integers.
enum class ModelForm : std::uint8_t {
  kQdq,        ///< operators on reals between DequantizeLinear and QuantizeLinear
  kQOperator,  ///< operators that read and write integers, such as QLinearConv
};

/// A row of the list of forms.
struct ModelFormInfo {
  ModelForm form = ModelForm::kQdq;
  std::string_view name;
  std::string_view summary;  ///< a phrase for help texts whose subject is the name
};

/// Every form, the default first.
std::span<const ModelFormInfo> model_forms() noexcept;
/// The name of a form: `qdq` or `qoperator`.
std::string_view name_of(ModelForm form) noexcept;
/// The form called `name`, or nothing if no form has that name.
std::optional<ModelForm> find_model_form(std::string_view name) noexcept;

/// The scale and zero point that the results of an operator always have.
struct FixedResult {
  std::string_view op_type;
  Affine affine;
};

/// A back-end that runs quantized models: a description of the models that it accepts. All
/// operators are standard ONNX operators of opset 13 or later.
struct Target {
  std::string_view name;
  std::string_view description;
  Scheme activations;
  Scheme weights;
  Granularity weight_granularity = Granularity::kPerChannel;
  /// Operators whose weights share one scale, whatever `weight_granularity` says.
  std::vector<std::string_view> per_tensor_weight_ops;
  std::string weight_method = "absmax";  ///< see find_weight_method()
  /// Bits of the weights of 3x3 convolutions with stride 1, dilation 1 and no groups, if they
  /// differ from the bits of other weights. A Winograd F(4,3) kernel on int8 needs head-room and
  /// takes 6.
  std::optional<int> winograd_bits;
  /// Whether the back-end adds the products of two neighbouring weights in 16 bits on some
  /// processors, where the sum saturates; see pair_limit_of().
  bool adds_pairs_in_16_bits = false;
  /// Always free without adds_pairs_in_16_bits.
  WeightPairs weight_pairs = WeightPairs::kFree;
  /// Whether weights may have zero points.
  std::vector<Symmetry> weight_symmetries = {Symmetry::kSymmetric};
  ConstantForm constants = ConstantForm::kIntegers;
  std::vector<ModelForm> forms = {ModelForm::kQdq};  ///< the forms that it accepts
  std::vector<std::string_view> ops;                 ///< every operator it runs on integers
  Movers movers = Movers::kShareAffine;
  /// Operators whose result has the scale and zero point of their input. Operators that only move
  /// values are not listed here.
  std::vector<std::string_view> same_affine_ops;
  /// Scales and zero points that the back-end prescribes, whatever the table says. They are valid
  /// for 8-bit activations of the target's own type.
  std::vector<FixedResult> fixed_results;

  /// Activations that run inside their producer, with no pair in between.
  std::vector<std::string_view> fused_activations;
  std::vector<std::string_view> fusing_producers;
  /// Operators into which a following Add is fused. Their result is one operand of the Add. It gets
  /// no pair, because it is added before it is rounded. Only the other operand, the shortcut, gets
  /// one.
  std::vector<std::string_view> residual_producers;
  /// Whether the target runs nodes that together compute a function of each single element as one
  /// lookup table. An example is SiLU, written as Sigmoid and Mul. The constants of these nodes
  /// stay real, and no tensor between them gets a pair.
  bool fuses_functions = false;
  /// Operators that compute such a function of their sums before they round, if nothing else reads
  /// their result. That result gets no pair then.
  std::vector<std::string_view> function_producers;
  /// Whether individual tensors may keep 16 bits, see StaticOptions::wide. A layer then has one
  /// result for each byte. The two results are added before they are rounded, as with
  /// residual_producers.
  bool wide_activations = false;
  /// Whether the target rounds the results when a linear Resize runs on bytes. ONNX Runtime
  /// truncates them.
  bool interpolates = false;
  /// Operators whose integer kernel writes integers only. Inside the network their results get a
  /// pair, even if only FP32 nodes read them. Graph outputs do not: an FP32 result is more precise.
  std::vector<std::string_view> integer_result_ops;
  /// Operators that run on integers only when the DequantizeLinear of their weights has explicit
  /// zero points, all 0. For other operators the zero points are left out, which saves a byte per
  /// channel.
  std::vector<std::string_view> explicit_zero_ops;
  /// Numbers of spatial axes of the convolutions that the target runs on integers.
  std::vector<std::int64_t> conv_spatial_axes;
  /// The inputs and the output of a Concat share one range when each input's own range is at least
  /// this share of it (0.5: an input loses one bit at most).
  double concat_min_share = 0.5;

  /// Whether the target runs an operator on integers.
  [[nodiscard]] bool runs(std::string_view op_type) const noexcept;
  [[nodiscard]] bool fuses(std::string_view producer, std::string_view activation) const noexcept;
  /// The granularity of an operator's weights.
  [[nodiscard]] Granularity granularity_of(std::string_view op_type) const noexcept;
  [[nodiscard]] bool takes(ModelForm form) const noexcept;
  /// The scale and zero point that the target prescribes for the results of an operator; null if it
  /// prescribes none.
  [[nodiscard]] const Affine* fixed_result(std::string_view op_type) const& noexcept;
  const Affine* fixed_result(std::string_view op_type) const&& = delete;
};

/// All targets, sorted by name; `cpu` is the default.
std::span<const Target> targets();

/// The target called `name`. Throws Error(kUsage) with the nearest names.
const Target& find_target(std::string_view name);

/// Returns the target with the types that `choices` sets in place of its own. Throws Error(kUsage)
/// for an unknown weight method, bits outside 2 to 8, or asymmetric weights for a target that does
/// not accept them.
Target with_choices(Target target, const TypeChoices& choices);

inline constexpr std::string_view kDefaultTarget = "cpu";

}  // namespace qtool
