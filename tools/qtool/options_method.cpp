#include "options_method.h"

#include "qtool/base/text.h"

namespace qtool::tool {
namespace {

std::string methods_help() {
  std::string help = "How ranges are chosen:";
  for (const MethodInfo& method : methods()) {
    help += concat("\n  ", method.name, ": ", method.summary);
  }
  help += "\nOther tools' names for them:";
  for (const MethodAlias& alias : method_aliases()) {
    help += concat(" ", alias.alias, " (", alias.name, ")");
  }
  return help;
}

}  // namespace

void DecisionOptions::add_to(CLI::App& command) {
  command.add_option("--method", method, methods_help())
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Method");
  command.add_option("--bins", values.bins, "kl: bins of the histogram")
      ->type_name("N")
      ->capture_default_str()
      ->group("Method");
  command.add_option("--percentile", values.percentile, "percentile: per cent of values to cover")
      ->type_name("P")
      ->capture_default_str()
      ->group("Method");
  command.add_option("--momentum", values.momentum, "ema: weight of the newest image")
      ->type_name("C")
      ->capture_default_str()
      ->group("Method");
}

void StatisticsOptions::add_to(CLI::App& command) {
  CLI::Option* twice =
      command
          .add_flag("--two-pass", two_pass,
                    "Run the images twice and count every value in true linear bins: exact "
                    "parity for kl_ncnn and kl_mnn")
          ->group("Statistics");
  CLI::Option* keep =
      command
          .add_flag("--save-statistics", save,
                    "Also write the statistics beside the table (TABLE.stats), for --from")
          ->group("Statistics");
  command
      .add_option("--from", from,
                  "Decide again, without images, from the statistics saved with this table")
      ->type_name("TABLE")
      ->excludes(twice)
      ->excludes(keep)
      ->group("Statistics");
}

std::string StatisticsOptions::beside(const std::string& table) { return table + ".stats"; }

}  // namespace qtool::tool
