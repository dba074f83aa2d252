#include "options_accuracy.h"

#include <string_view>

#include "base/text.h"
#include "checks.h"
#include "console.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/measure/tune_ranges.h"
#include "qtool/quantize/calibrate.h"
#include "signals.h"

namespace qtool::tool {
namespace {

// An option that is one of these words.
void word(Command& command, const char* name, std::string& value, const char* help,
          std::vector<std::string> words) {
  CLI::Option* option =
      command.add_option(name, value, help)->type_name("HOW")->capture_default_str();
  take_words(command, *option, std::move(words));
}

}  // namespace

void add_effort(Command& command, std::string& effort) {
  word(command, "--effort", effort,
       "How much to do for accuracy\n"
       "fast needs the table alone; balanced also runs --images: it stands for --equalize table "
       "--weight-rounding gptq, of which one that is given wins.",
       {"fast", "balanced"});
}

void AccuracyOptions::add_to(Command& command, AccuracyUse use) {
  add_effort(command, effort_);
  if (use == AccuracyUse::kQuantize) {
    word(command, "--bias-correction", bias_correction_,
         "Take back what quantizing adds to mean outputs\n"
         "table takes back what the weights add, from the table's channel means; sequential what "
         "reaches the layer too, measured layer by layer on --images.",
         {"off", "table", "sequential"});
  }
  command.add_flag(
      "--tune-ranges", tune_ranges_,
      "Make ranges narrower or wider by what that does to the outputs\n"
      "Half of --images tune, the other half judge. Only for images like those that the "
      "network will meet.");
  word(command, "--weight-rounding", weight_rounding_,
       "How weights become integers\n"
       "nearest rounds each alone; gptq lets the later weights of a channel make up for the errors "
       "of the earlier ones, as far as --images show that they can.",
       {"nearest", "gptq"});
  command
      .add_option("--max-memory", max_memory_,
                  "Mebibytes for what --weight-rounding learns about the layers' inputs\n"
                  "With fewer, the images are run several times.")
      ->type_name("MIB")
      ->check(whole_number(1, 1 << 20))
      ->capture_default_str();
  command.goes_with("--max-memory", {{"--effort", {"balanced"}}, {"--weight-rounding", {"gptq"}}});
  if (use == AccuracyUse::kSearch) return;
  for (const char* option : {"--images", "--inputs"}) {
    command.goes_with(option, {{"--effort", {"balanced"}},
                               {"--tune-ranges", {}},
                               {"--verify", {}},
                               {"--bias-correction", {"sequential"}},
                               {"--weight-rounding", {"gptq"}}});
  }
}

void AccuracyOptions::apply(const Command& command, bool has_samples, RewriteOptions& rewrites) {
  const auto require_images = [&](std::string_view option) {
    if (!has_samples) {
      throw Error(ErrorCode::kUsage, concat(option, " needs --images or --inputs"));
    }
  };
  const bool given = command.get_option("--weight-rounding")->count() > 0;
  if (effort_ == "balanced") {
    rewrites.equalize_by_default();
    if (!given) weight_rounding_ = "gptq";
  }
  if (tune_ranges_) require_images("--tune-ranges");
  if (weight_rounding_ != "nearest") {
    require_images(given ? concat("--weight-rounding ", weight_rounding_) : "--effort balanced");
  }
  if (bias_correction_ == "sequential") require_images("--bias-correction sequential");
}

BiasCorrection AccuracyOptions::bias_correction() const {
  if (bias_correction_ == "sequential") return BiasCorrection::kSequential;
  return bias_correction_ == "off" ? BiasCorrection::kOff : BiasCorrection::kTable;
}

void AccuracyOptions::measure(const Model& fp32, const CalibrationTable& table,
                              const Samples& samples, const Preprocess& preprocess,
                              BadImages policy, const RunOptions& run,
                              StaticOptions& chosen) const {
  CollectOptions collect;
  collect.preprocess = preprocess;
  collect.bad_images = policy;
  collect.threads = run.threads;
  const std::string items = concat(samples.noun(), "s");
  if (tune_ranges_) tune(fp32, table, samples, collect, run, chosen);
  if (weight_rounding_ != "nearest") {
    ProgressDisplay progress("round weights", items, run.progress_style());
    collect.progress = progress.callback();
    chosen.rounding = weight_rounding_;
    RoundedOnImages rounded =
        round_on_images(*fp32.executor, table, chosen, samples, collect, {max_memory_ << 20});
    warn_of(rounded.bad);
    chosen.rounded = std::move(rounded.weights);
    if (chosen.rounded.empty()) {
      warning(
          "--weight-rounding: no layer is such that it can be rounded on images within "
          "--max-memory; all are rounded to nearest");
      chosen.rounding = "nearest";
    }
  }
  if (chosen.bias_correction == BiasCorrection::kSequential) {
    ProgressDisplay progress("correct biases", items, run.progress_style());
    collect.progress = progress.callback();
    ShiftsOnImages measured =
        sequential_bias_shifts(*fp32.executor, table, chosen, samples, collect);
    if (weight_rounding_ == "nearest") warn_of(measured.bad);  // else they are told already
    chosen.bias_shifts = std::move(measured.shifts);
  }
}

void AccuracyOptions::tune(const Model& fp32, const CalibrationTable& table, const Samples& samples,
                           const CollectOptions& collect, const RunOptions& run,
                           StaticOptions& chosen) const {
  AnalyzeOptions options;
  options.preprocess = collect.preprocess;
  options.bad_images = collect.bad_images;
  options.threads = collect.threads;
  options.stop = interrupted;
  ProgressDisplay progress("tune ranges", concat(samples.noun(), "s"), run.progress_style());
  options.progress = progress.callback();
  RangeTuning tuned = tune_ranges(*fp32.executor, table, chosen, samples, options);
  // The later steps see all images, and tell the bad ones.
  if (weight_rounding_ == "nearest" && bias_correction_ != "sequential") warn_of(tuned.bad);
  const std::string_view kept = tuned.refused          ? ", too little: the table's stay"
                                : tuned.ranges.empty() ? ": the table's stay"
                                                       : "";
  note(concat("tuned ranges: ", tuned.ranges.size(), " changed, ", tuned.tried, " tried; ",
              to_fixed(tuned.before_db, 2), " -> ", to_fixed(tuned.after_db, 2), " dB on ",
              samples.noun(), "s kept aside", kept));
  chosen.tuned_ranges = std::move(tuned.ranges);
}

}  // namespace qtool::tool
