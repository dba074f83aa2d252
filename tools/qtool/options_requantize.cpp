#include "options_requantize.h"

#include <optional>

#include "checks.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool::tool {

void RequantizeOption::add_to(Command& command) {
  CLI::Option* option =
      command
          .add_option("--requantize", name,
                      "How the sums of INT8 layers become bytes\n"
                      "gemmlowp (as TensorFlow Lite does it) and single use no floats and are "
                      "slower here.")
          ->type_name("PATH")
          ->capture_default_str()
          ->group("Running");
  take_words(command, *option, {"float", "gemmlowp", "single"});
}

Requantization RequantizeOption::path() const {
  if (const std::optional<Requantization> found = find_requantization(name)) return *found;
  throw Error(ErrorCode::kUsage,
              concat("--requantize: found '", name, "', expected float, gemmlowp or single"));
}

}  // namespace qtool::tool
