#include "options/quantization.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "files.h"
#include "program/checks.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"

namespace qtool::tool {
namespace {

constexpr const char* kTypes = "Types";
constexpr const char* kOverrides = "Ranges of your own";

/// Splits NAME=a,b at the last equals sign, because names of tensors may hold one and numbers do
/// not.
std::pair<std::string, std::vector<float>> parse_assignment(const std::string& text,
                                                            const char* option,
                                                            const char* expected) {
  const std::size_t sign = text.rfind('=');
  const auto refuse = [&] {
    throw Error(ErrorCode::kUsage, to_text(option, ": found '", text, "', expected ", expected));
  };
  if (sign == std::string::npos || sign == 0) refuse();
  std::vector<float> numbers;
  for (const std::string& part : split(text.substr(sign + 1), ',')) {
    try {
      numbers.push_back(parse_float(part, option));
    } catch (const Error&) {
      refuse();
    }
  }
  return {text.substr(0, sign), std::move(numbers)};
}

}  // namespace

void add_target(Command& command, std::string& target) {
  std::vector<std::string> names;
  for (const Target& known : targets()) names.emplace_back(known.name);
  command.option("--target", target, "Back-end to quantize for, see qtool help targets")
      .placeholder("NAME")
      .show_default()
      .name_of(std::move(names),
               [](std::string_view name) { return std::string(find_target(name).name); });
}

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
  word("--activations", activations_, "Type of activations, unsigned or signed", {"u8", "s8"});
  command.flag("--symmetric", symmetric_, "Activations without a zero point of their own")
      .group(kTypes);
  bits("--activation-bits", activation_bits_, "Bits of activations, 2 to 8 (default: 8)");
  for (const char* option :
       {"--weight-method", "--weight-bits", "--weight-granularity", "--weight-symmetry"}) {
    command.goes_with_files(option, Trait::kWeights);
  }
  command.goes_with_files("--winograd-bits", Trait::kWinograd);
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
  if (!activations_.empty()) {
    types.activation_dtype = activations_ == "s8" ? DType::kInt8 : DType::kUInt8;
  }
  if (symmetric_) types.activation_symmetry = Symmetry::kSymmetric;
  types.activation_bits = activation_bits_;
  return types;
}

void RewriteOptions::add_to(Command& command, const std::string& fallback) {
  command
      .option("--equalize", equalize_,
              to_text("Bring channels to a common range first (default: ", fallback,
                      ")\n"
                      "off, or table: by what the table knows of each channel. What one "
                      "layer divides its channels by, the next ones multiply them by."))
      .placeholder("HOW")
      .one_of({"off", "table"});
}

std::optional<std::vector<std::string>> RewriteOptions::names() const {
  if (equalize_.empty()) return std::nullopt;
  std::vector<std::string> names;
  if (equalize_ == "table") names.emplace_back("equalize");
  return names;
}

void OverrideOptions::add_to(Command& command, OverrideUse use) {
  // Each flag takes one value, because a second word would be the model.
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* help,
                        const char* type) -> Option& {
    return command.option(name, values, help).one_value_each().placeholder(type);
  };
  list("--exclude", exclude_, "Node to keep in FP32, by name or pattern (* and ?)", "NAME");
  list("--range", ranges_, "Range of a tensor, or of all that match a pattern; holds 0",
       "NAME=LOW,HIGH")
      .group(kOverrides);
  list("--scale", scales_, "Scale of a tensor, and its zero point", "NAME=SCALE[,ZERO]")
      .group(kOverrides);
  if (use == OverrideUse::kModel) {
    list("--wide", wide_,
         "Tensor to keep in 16 bits, by name or pattern\n"
         "In two bytes, which layers multiply one after the other. For --target qtool.",
         "NAME")
        .group(kOverrides);
    command.goes_with("--wide", {{"--target", {"qtool"}}});
  }
  command
      .option("--overrides", file_,
              "JSON file with ranges, scales and exclusions\n"
              "Its keys are `ranges`, `scales`, `exclude` and `wide`; flags win over it.")
      .placeholder("FILE")
      .group(kOverrides);
}

Overrides OverrideOptions::read() const {
  Overrides overrides;
  if (!file_.empty()) {
    try {
      overrides = read_overrides(read_input(file_, kMaxOverridesBytes));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo) throw;
      throw Error(error.code(), to_text("'", file_, "': ", error.what()));
    }
  }
  overrides.exclude.insert(overrides.exclude.end(), exclude_.begin(), exclude_.end());
  overrides.wide.insert(overrides.wide.end(), wide_.begin(), wide_.end());
  for (const std::string& text : ranges_) {
    constexpr const char* kExpected = "NAME=LOW,HIGH with LOW <= 0 <= HIGH";
    auto [name, numbers] = parse_assignment(text, "--range", kExpected);
    if (numbers.size() != 2 || !(numbers[0] <= 0.0F) || !(numbers[1] >= 0.0F)) {
      throw Error(ErrorCode::kUsage, to_text("--range: found '", text, "', expected ", kExpected));
    }
    overrides.ranges.push_back({std::move(name), {numbers[0], numbers[1]}});
  }
  for (const std::string& text : scales_) {
    constexpr const char* kExpected = "NAME=SCALE[,ZERO] with SCALE > 0 and a whole ZERO";
    auto [name, numbers] = parse_assignment(text, "--scale", kExpected);
    std::optional<std::int32_t> zero_point;
    const bool has_zero = numbers.size() == 2 && numbers[1] >= -128.0F && numbers[1] <= 255.0F;
    if (has_zero) zero_point = static_cast<std::int32_t>(numbers[1]);
    const bool whole = !zero_point || static_cast<float>(*zero_point) == numbers[1];
    if (numbers.empty() || numbers.size() > 2 || (numbers.size() == 2 && !has_zero) || !whole ||
        !(numbers[0] > 0.0F)) {
      throw Error(ErrorCode::kUsage, to_text("--scale: found '", text, "', expected ", kExpected));
    }
    overrides.scales.push_back({std::move(name), numbers[0], zero_point});
  }
  return overrides;
}

}  // namespace qtool::tool
