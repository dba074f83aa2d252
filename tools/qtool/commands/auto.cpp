#include <cstdint>
#include <memory>
#include <string>

#include "auto/auto_command.h"
#include "auto/auto_run.h"
#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "make_page.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kDefaultLimit = 200;

}  // namespace

void add_auto(Program& program, Session& session) {
  const auto options = std::make_shared<AutoCommand>();
  Command& command = program.add_command(
      "auto", "Calibrate, quantize and compare in one go, and say what to do next",
      {"qtool auto model.onnx --images photos/calib --preprocess imagenet -o made",
       "qtool auto model.onnx --images photos/calib --compare photos/eval"});
  add_model(command, options->model, " in FP32").required();
  command.option("-o,--output-dir", options->folder, "Folder for what is made (default: this one)")
      .placeholder("DIR");
  add_target(command, options->target);
  add_effort(command, options->effort, Efforts::kWithoutBudget);
  command
      .option("--search", options->search,
              "If INT8 loses too much, search this long: 10m\n"
              "Finds the nodes that must stay in FP32 and the tensors that need 16 bits, as qtool "
              "search does, on the images that set the ranges. At least 75% of the "
              "multiplications stay on integers. Not used where another step comes first, such as "
              "--target qtool if no target is given; the result says so.")
      .placeholder("TIME")
      .check(time_span());
  add_report(command, options->report,
             "It says the verdict first, then what the accuracy is lost by; see qtool analyze. "
             "It takes as long as qtool analyze on 50 samples.");
  options->images.limit = kDefaultLimit;
  options->images.add_to(command, SamplesUse::kMeasure);
  // auto divides the images itself: half of them set the ranges, and the models are compared on the
  // other half.
  command.remove("--part");
  command.find("--limit")
      .text("At most N to calibrate, N to compare\n0 = all; spread evenly.")
      .show_default(to_text(kDefaultLimit));
  command
      .option("--compare", options->compare,
              "Folder or list of other images to compare on\n"
              "Without it, half of --images is held out for that.")
      .placeholder("DIR")
      .group("Images");
  command.not_with("--compare", {{"--inputs", {}}});
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  options->outputs.add_to(command);
  options->outputs.allow_no_boxes(command);
  add_verify_limit(command, options->min_sqnr_db);
  options->also_time.add_to(command);
  options->run.add_to(command);
  command.show_first({"model", "--images", "--inputs", "--compare", "--labels", "--limit",
                      "--preprocess", "--target", "--effort", "--search", "--boxes", "--report",
                      "--output-dir", "--json", "--quiet", "--help"});
  command.on_parsed([options, &command, &session] {
    options->images.require_given();
    session.run = [options, &command] { run_auto(*options, command); };
  });
}

}  // namespace qtool::tool
