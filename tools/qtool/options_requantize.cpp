#include "options_requantize.h"

#include <optional>

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool::tool {

void RequantizeOption::add_to(CLI::App& command) {
  command
      .add_option("--requantize", name,
                  "Arithmetic behind integer sums: float; gemmlowp (as TensorFlow Lite) or single, "
                  "both without floats and slower here")
      ->type_name("PATH")
      ->capture_default_str()
      ->group("Running");
}

Requantization RequantizeOption::path() const {
  if (const std::optional<Requantization> found = find_requantization(name)) return *found;
  throw Error(ErrorCode::kUsage,
              concat("--requantize: found '", name, "', expected float, gemmlowp or single"));
}

}  // namespace qtool::tool
