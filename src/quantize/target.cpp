#include "qtool/quantize/target.h"

#include <algorithm>
#include <string>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

#define QTOOL_TARGET(name) Target target_##name();
#include "quantize/targets/targets.inc"

namespace {

bool lists(const std::vector<std::string_view>& names, std::string_view wanted) noexcept {
  return std::find(names.begin(), names.end(), wanted) != names.end();
}

}  // namespace

bool Target::runs(std::string_view op_type) const noexcept { return lists(ops, op_type); }

bool Target::fuses(std::string_view producer, std::string_view activation) const noexcept {
  return lists(fusing_producers, producer) && lists(fused_activations, activation);
}

std::span<const Target> targets() {
  static const std::vector<Target> all = {
#define QTOOL_TARGET(name) target_##name(),
#include "quantize/targets/targets.inc"
  };
  return all;
}

const Target& find_target(std::string_view name) { return find_by_name(targets(), name, "target"); }

Granularity Target::granularity_of(std::string_view op_type) const noexcept {
  return lists(per_tensor_weight_ops, op_type) ? Granularity::kPerTensor : weight_granularity;
}

bool Target::takes(ModelForm form) const noexcept {
  return std::find(forms.begin(), forms.end(), form) != forms.end();
}

const Affine* Target::fixed_result(std::string_view op_type) const& noexcept {
  for (const FixedResult& fixed : fixed_results) {
    if (fixed.op_type == op_type) return &fixed.affine;
  }
  return nullptr;
}

namespace {

int checked_bits(int bits, std::string_view what) {
  if (bits < 2 || bits > 8) {
    throw Error(ErrorCode::kUsage, to_text(what, ": found ", bits, " bits, expected 2 to 8"));
  }
  return bits;
}

}  // namespace

Target with_choices(Target target, const TypeChoices& choices) {
  const Scheme own = target.activations;
  if (choices.weight_method) {
    target.weight_method = find_weight_method(*choices.weight_method).name;
  }
  if (choices.weight_bits) target.weights.bits = checked_bits(*choices.weight_bits, "weights");
  if (choices.weight_granularity) target.weight_granularity = *choices.weight_granularity;
  if (choices.weight_symmetry) {
    const auto& known = target.weight_symmetries;
    if (std::find(known.begin(), known.end(), *choices.weight_symmetry) == known.end()) {
      throw Error(ErrorCode::kUsage,
                  to_text("target '", target.name,
                          "' takes symmetric weights only, found a request for asymmetric ones"));
    }
    target.weights.symmetry = *choices.weight_symmetry;
  }
  // A table may be for another target, whose sums saturate.
  if (choices.weight_pairs && target.adds_pairs_in_16_bits) {
    target.weight_pairs = *choices.weight_pairs;
  }
  if (choices.winograd_bits) {
    target.winograd_bits = checked_bits(*choices.winograd_bits, "weights of 3x3 convolutions");
  }
  if (choices.activation_dtype) target.activations.dtype = *choices.activation_dtype;
  if (choices.activation_symmetry) target.activations.symmetry = *choices.activation_symmetry;
  if (choices.activation_bits) {
    target.activations.bits = checked_bits(*choices.activation_bits, "activations");
  }
  if (!(target.activations == own))
    target.fixed_results.clear();  // they are for the target's own types
  return target;
}

}  // namespace qtool
