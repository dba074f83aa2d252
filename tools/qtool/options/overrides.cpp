#include "options/overrides.h"

#include <utility>

#include "base/text.h"
#include "cli/value_checks.h"
#include "files.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

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
