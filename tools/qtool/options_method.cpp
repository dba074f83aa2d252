#include "options_method.h"

#include "base/text.h"
#include "checks.h"

namespace qtool::tool {

void DecisionOptions::add_to(Command& command) {
  CLI::Option* choice =
      command.add_option("--method", method, "How ranges are chosen, see qtool help methods")
          ->type_name("NAME")
          ->capture_default_str()
          ->group("Method");
  take_name(command, *choice, method_names(),
            [](std::string_view name) { return std::string(find_method(name).name); });
  command.add_option("--bins", values.bins, "Bins of the histogram")
      ->type_name("N")
      ->check(whole_number(128, 65536))
      ->capture_default_str()
      ->group("Method");
  command.goes_with("--bins", {{"--method", {"kl", "auto"}}});
  command.add_option("--percentile", values.percentile, "Per cent of the values to cover")
      ->type_name("P")
      ->check(number([](double value) { return value > 50.0 && value <= 100.0; },
                     "a number above 50 and up to 100"))
      ->capture_default_str()
      ->group("Method");
  command.goes_with("--percentile", {{"--method", {"percentile", "auto"}}});
  command.add_option("--momentum", values.momentum, "Weight of the newest image")
      ->type_name("C")
      ->check(number([](double value) { return value >= 0.005 && value <= 1.0; },
                     "a number from 0.005 to 1"))
      ->capture_default_str()
      ->group("Method");
  command.goes_with("--momentum", {{"--method", {"ema"}}});
}

void StatisticsOptions::add_to(Command& command) {
  command
      .add_flag("--two-pass", two_pass,
                "Run the images twice and count every value in linear bins\n"
                "kl_ncnn and kl_mnn then agree with the originals to the bin.")
      ->group("Statistics");
  command
      .add_flag("--save-statistics", save, "Also write the statistics beside the table, for --from")
      ->group("Statistics");
  command.add_option("--from", from, "Decide again from the statistics of a table, not images")
      ->type_name("TABLE")
      ->group("Statistics");
  command.not_with("--two-pass", {{"--from", {}}});
  command.not_with("--save-statistics", {{"--from", {}}});
}

}  // namespace qtool::tool
