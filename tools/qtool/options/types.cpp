#include "options/types.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/value_checks.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"

namespace qtool::tool {
namespace {

constexpr const char* kTypes = "Types";

std::vector<std::string> targets_with_limits() {
  std::vector<std::string> names;
  for (const Target& target : targets()) {
    if (target.adds_pairs_in_16_bits) names.emplace_back(target.name);
  }
  return names;
}

}  // namespace

void TypeOptions::add_to(Command& command) {
  const auto bits = [&](const char* name, std::optional<int>& value, const char* help) {
    command.option(name, value, help).placeholder("BITS").check(whole_number(2, 8)).group(kTypes);
  };
  const auto word = [&](const char* name, std::string& value, const char* help,
                        std::vector<std::string> words) {
    command.option(name, value, help).placeholder("TYPE").group(kTypes).one_of(std::move(words));
  };
  std::vector<std::string> methods;
  for (const WeightMethodInfo& info : weight_methods()) methods.emplace_back(info.name);
  command
      .option("--weight-method", weight_method_,
              "How the scales of weights are chosen (default: absmax)")
      .placeholder("NAME")
      .group(kTypes)
      .name_of(std::move(methods),
               [](std::string_view name) { return std::string(find_weight_method(name).name); });
  bits("--weight-bits", weight_bits_, "Bits of weights, 2 to 8 (default: 8)");
  word("--weight-granularity", weight_granularity_,
       "One scale per output channel or per weight tensor", {"per-channel", "per-tensor"});
  word("--weight-symmetry", weight_symmetry_,
       "Whether weights have zero points, where the target allows it", {"symmetric", "asymmetric"});
  bits("--winograd-bits", winograd_bits_,
       "Bits of weights of 3x3 convolutions of stride 1\n"
       "2 to 8; ncnn takes 6. Without it, --weight-bits holds for them too.");
  word("--weight-pairs", weight_pairs_,
       "Whether neighbouring weights are limited so that no sum of two products saturates in 16 "
       "bits\n"
       "For ONNX Runtime on processors without VNNI. Without it, calibrate limits them if that "
       "costs some images at most 0.2 dB (median), and quantize does as the table says.",
       {"limited", "free"});
  word("--activations", activations_, "Type of activations, unsigned or signed", {"u8", "s8"});
  command.flag("--symmetric", symmetric_, "Activations without a zero point of their own")
      .group(kTypes);
  bits("--activation-bits", activation_bits_, "Bits of activations, 2 to 8 (default: 8)");
  for (const char* option : {"--weight-method", "--weight-bits", "--weight-granularity",
                             "--weight-symmetry", "--weight-pairs"}) {
    command.goes_with_files(option, Trait::kWeights);
  }
  command.goes_with_files("--winograd-bits", Trait::kWinograd);
  command.goes_with("--weight-pairs", {{"--target", targets_with_limits()}});
}

void TypeOptions::require_effect(const Command& command, const Graph& prepared,
                                 const std::string& model) {
  const std::string name = to_text("model '", model, "'");
  command.found(Trait::kWeights, name, [&] { return has_weights(prepared); });
  command.found(Trait::kWinograd, name, [&] { return has_winograd_weights(prepared); });
}

TypeChoices TypeOptions::choices() const {
  TypeChoices types;
  if (!weight_method_.empty()) types.weight_method = find_weight_method(weight_method_).name;
  types.weight_bits = weight_bits_;
  if (!weight_granularity_.empty()) {
    types.weight_granularity =
        weight_granularity_ == "per-tensor" ? Granularity::kPerTensor : Granularity::kPerChannel;
  }
  if (!weight_symmetry_.empty()) {
    types.weight_symmetry =
        weight_symmetry_ == "symmetric" ? Symmetry::kSymmetric : Symmetry::kAsymmetric;
  }
  types.winograd_bits = winograd_bits_;
  if (!weight_pairs_.empty()) {
    types.weight_pairs = weight_pairs_ == "limited" ? WeightPairs::kLimited : WeightPairs::kFree;
  }
  if (!activations_.empty()) {
    types.activation_dtype = activations_ == "s8" ? DType::kInt8 : DType::kUInt8;
  }
  if (symmetric_) types.activation_symmetry = Symmetry::kSymmetric;
  types.activation_bits = activation_bits_;
  return types;
}

}  // namespace qtool::tool
