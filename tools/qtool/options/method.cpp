#include "options/method.h"

#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/value_checks.h"

namespace qtool::tool {

void DecisionOptions::add_to(Command& command) {
  command.option("--method", method, "How ranges are chosen, see qtool help methods")
      .placeholder("NAME")
      .show_default()
      .group("Method")
      .name_of(method_names(),
               [](std::string_view name) { return std::string(find_method(name).name); });
  command.option("--bins", values.bins, "Bins of the histogram")
      .placeholder("N")
      .check(whole_number(128, 65536))
      .show_default()
      .group("Method");
  command.goes_with("--bins", {{"--method", {"kl", "auto"}}});
  command.option("--percentile", values.percentile, "Per cent of the values to cover")
      .placeholder("P")
      .check(number([](double value) { return value > 50.0 && value <= 100.0; },
                    "a number above 50 and up to 100"))
      .show_default()
      .group("Method");
  command.goes_with("--percentile", {{"--method", {"percentile", "auto"}}});
  command.option("--momentum", values.momentum, "Weight of the newest image")
      .placeholder("C")
      .check(number([](double value) { return value >= 0.005 && value <= 1.0; },
                    "a number from 0.005 to 1"))
      .show_default()
      .group("Method");
  command.goes_with("--momentum", {{"--method", {"ema"}}});
}

void StatisticsOptions::add_to(Command& command) {
  command
      .flag("--two-pass", two_pass,
            "Run the images twice and count every value in linear bins\n"
            "kl_ncnn and kl_mnn then agree with the originals to the bin.")
      .group("Statistics");
  command.flag("--save-statistics", save, "Also write the statistics beside the table, for --from")
      .group("Statistics");
  command.option("--from", from, "Decide again from the statistics of a table, not images")
      .placeholder("TABLE")
      .group("Statistics");
  command.not_with("--two-pass", {{"--from", {}}});
  command.not_with("--save-statistics", {{"--from", {}}});
}

}  // namespace qtool::tool
