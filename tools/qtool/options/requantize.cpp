#include "options/requantize.h"

#include <optional>
#include <string>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

void RequantizeOption::add_to(Command& command) {
  command
      .option("--requantize", name,
              "How the sums of INT8 layers become bytes\n"
              "gemmlowp (as TensorFlow Lite does it) and single use no floats and are "
              "slower here.")
      .placeholder("PATH")
      .show_default()
      .group("Running")
      .one_of({"float", "gemmlowp", "single"});
  command.goes_with_files("--requantize", Trait::kRequantization);
}

void RequantizeOption::require_effect(const Command& command, const Models& models) {
  const Model& fp32 = models.fp32;
  const std::optional<Model>& int8 = models.int8;
  const std::string second = int8 ? to_text(" and '", int8->path, "'") : "";
  command.found(
      Trait::kRequantization, to_text(int8 ? "models '" : "model '", fp32.path, "'", second),
      [&] { return has_fixed_scales(fp32.loaded) || (int8 && has_fixed_scales(int8->loaded)); });
}

Requantization RequantizeOption::path() const {
  if (const std::optional<Requantization> found = find_requantization(name)) return *found;
  throw Error(ErrorCode::kUsage,
              to_text("--requantize: found '", name, "', expected float, gemmlowp or single"));
}

}  // namespace qtool::tool
