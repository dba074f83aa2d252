#include "options/accuracy.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "console.h"
#include "program/checks.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/image/preprocess.h"
#include "qtool/on_images/round_on_images.h"
#include "qtool/on_images/sequential_correction.h"
#include "qtool/on_images/tune_ranges.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/samples/content_hash.h"
#include "signals.h"

namespace qtool::tool {
namespace {

// A hash of everything that the integers of rounded layers depend on, except their weights and
// scales. Each partial result identifies these itself.
std::uint64_t work_key(const CalibrationTable& table, const Samples& samples,
                       const Preprocess& preprocess, const StaticOptions& chosen) {
  std::string text =
      concat(to_hex(chosen.model_fingerprint.value_or(0)), " ", chosen.target, " ", chosen.rounding,
             " ", to_hex(content_hash_of(samples)), " ", to_json_text(preprocess), " ",
             static_cast<int>(chosen.bias_correction), "\n", write_table(table));
  for (const std::string& name : chosen.exclude) text += concat("\n", name);
  for (const std::string& name : chosen.rewrites.value_or(std::vector<std::string>{"table's"})) {
    text += concat("\n", name);
  }
  for (const auto& [tensor, range] : chosen.tuned_ranges) {
    text += concat("\n", tensor, " ", range.min, " ", range.max);
  }
  return hash_bytes(text);
}

// Adds an option whose value is one of `words`.
void word(Command& command, const char* name, std::string& value, const char* help,
          std::vector<std::string> words) {
  command.option(name, value, help).placeholder("HOW").show_default().one_of(std::move(words));
}

}  // namespace

void add_effort(Command& command, std::string& effort) {
  word(command, "--effort", effort,
       "How much to do for accuracy\n"
       "fast needs the table alone; balanced also runs --images: it stands for --equalize table "
       "--weight-rounding gptq, of which one that is given wins.",
       {"fast", "balanced"});
}

/// The time since measure() began, compared with --budget if there is one.
class AccuracyOptions::Clock {
 public:
  explicit Clock(std::optional<double> budget) : budget_(budget) {}

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  /// Whether this share of the budget is spent.
  [[nodiscard]] bool is_over(double share) const {
    return budget_ && seconds() >= share * *budget_;
  }

 private:
  std::optional<double> budget_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void AccuracyOptions::add_to(Command& command, AccuracyUse use) {
  if (use == AccuracyUse::kSearch) add_effort(command, effort_);
  if (use == AccuracyUse::kQuantize) {
    word(command, "--effort", effort_,
         "How much to do for accuracy\n"
         "fast needs the table alone; balanced also runs --images: it stands for --equalize table "
         "--weight-rounding gptq; best for --equalize table --weight-rounding adaround "
         "--tune-ranges within --budget. Of these one that is given wins.",
         {"fast", "balanced", "best"});
    command
        .option("--budget", budget_,
                "Time for --effort best: 90s, 5m, 1h\n"
                "Half of it at most goes to the ranges. Layers for which none is left are "
                "rounded by gptq.")
        .placeholder("TIME")
        .check(time_span())
        .show_default();
    command.goes_with("--budget", {{"--effort", {"best"}}});
    resume_.add_to(command);
    command.goes_with("--resume", {{"--effort", {"balanced", "best"}},
                                   {"--weight-rounding", {"gptq", "adaround"}}});
    word(command, "--bias-correction", bias_correction_,
         "Take back what quantizing adds to mean outputs\n"
         "table takes back what the weights add, from the table's channel means, in every mode "
         "that has a table; sequential what reaches the layer too, measured layer by layer on "
         "--images.",
         {"off", "table", "sequential"});
  }
  command.flag("--tune-ranges", tune_ranges_,
               "Make ranges narrower or wider by what that does to the outputs\n"
               "Half of --images tune, the other half judge. Only for images like those that the "
               "network will meet.");
  word(command, "--weight-rounding", weight_rounding_,
       "How weights become integers\n"
       "nearest rounds each alone; gptq lets the later weights of a channel make up for the errors "
       "of the earlier ones, as far as --images show that they can; adaround then moves single "
       "ones by what that does behind the activation, which takes longer.",
       {"nearest", "gptq", "adaround"});
  command
      .option("--max-memory", max_memory_,
              "Mebibytes for what --weight-rounding learns about the layers' inputs\n"
              "With fewer, the images are run several times.")
      .placeholder("MIB")
      .check(whole_number(1, 1 << 20))
      .show_default();
  std::vector<std::string> efforts = {"balanced"};
  if (use == AccuracyUse::kQuantize) efforts.emplace_back("best");
  const Company by_effort = {"--effort", std::move(efforts)};
  const Company by_rounding = {"--weight-rounding", {"gptq", "adaround"}};
  command.goes_with("--max-memory", {by_effort, by_rounding});
  if (use == AccuracyUse::kSearch) return;
  for (const char* option : {"--images", "--inputs"}) {
    command.goes_with(option, {by_effort,
                               {"--tune-ranges", {}},
                               {"--verify", {}},
                               {"--faster-only", {}},
                               {"--bias-correction", {"sequential"}},
                               by_rounding});
  }
}

void AccuracyOptions::apply(const Command& command, bool has_samples, RewriteOptions& rewrites) {
  const auto require_images = [&](std::string_view option) {
    if (!has_samples) {
      throw Error(ErrorCode::kUsage, concat(option, " needs --images or --inputs"));
    }
  };
  const bool given = command.given("--weight-rounding");
  if (effort_ != "fast") {
    rewrites.equalize_by_default();
    if (!given) weight_rounding_ = effort_ == "best" ? "adaround" : "gptq";
  }
  const std::string effort = concat("--effort ", effort_);
  if (tune_ranges_) require_images("--tune-ranges");
  if (effort_ == "best") {
    require_images(effort);
    tune_ranges_ = true;
  }
  // The rules of the options accept these options beside --effort, even if --weight-rounding
  // nearest is given. So the case is refused here. The --resume of search is exempt, because it
  // keeps more than rounded weights.
  for (const char* option : {"--max-memory", "--resume"}) {
    if (weight_rounding_ != "nearest" || !command.given(option)) continue;
    if (option == std::string_view("--resume") && !resume_.given()) continue;
    throw Error(ErrorCode::kUsage,
                concat(option,
                       " has no effect with --weight-rounding nearest; it goes with "
                       "--weight-rounding gptq or adaround"));
  }
  resume_.declare();
  if (weight_rounding_ != "nearest") {
    require_images(given ? concat("--weight-rounding ", weight_rounding_) : effort);
  }
  if (bias_correction_ == "sequential") require_images("--bias-correction sequential");
}

BiasCorrection AccuracyOptions::bias_correction() const {
  if (bias_correction_ == "sequential") return BiasCorrection::kSequential;
  return bias_correction_ == "off" ? BiasCorrection::kOff : BiasCorrection::kTable;
}

void AccuracyOptions::measure(const Model& fp32, const CalibrationTable& table,
                              const Samples& samples, const Preprocess& preprocess,
                              BadImages policy, const RunOptions& run, StaticOptions& chosen) {
  const Clock clock(effort_ == "best" ? std::optional(seconds_of_time(budget_)) : std::nullopt);
  CollectOptions collect;
  collect.preprocess = preprocess;
  collect.bad_images = policy;
  collect.threads = run.threads;
  const std::string items = concat(samples.noun(), "s");
  if (tune_ranges_) tune(fp32, table, samples, collect, run, clock, chosen);
  const double tuned = clock.seconds();
  if (weight_rounding_ != "nearest") round(fp32, table, samples, collect, run, clock, chosen);
  if (effort_ == "best") {
    note(concat("--effort best: ", to_fixed(tuned, 1), " s for the ranges, ",
                to_fixed(clock.seconds() - tuned, 1), " s for the weights, of ", budget_));
  }
  if (chosen.bias_correction == BiasCorrection::kSequential) {
    ProgressDisplay progress("correct biases", items, run.progress_style());
    collect.progress = progress.callback();
    ShiftsOnImages measured =
        sequential_bias_shifts(*fp32.executor, table, chosen, samples, collect);
    if (weight_rounding_ == "nearest") warn_of(measured.bad);  // else round() reported them
    chosen.bias_shifts = std::move(measured.shifts);
  }
}

void AccuracyOptions::round(const Model& fp32, const CalibrationTable& table,
                            const Samples& samples, CollectOptions collect, const RunOptions& run,
                            const Clock& clock, StaticOptions& chosen) {
  ProgressDisplay progress("round weights", concat(samples.noun(), "s and layers"),
                           run.progress_style());
  collect.progress = progress.callback();
  chosen.rounding = weight_rounding_;
  if (resume_.given()) {
    results_ = resume_.open(work_key(table, samples, collect.preprocess, chosen));
  }
  RoundOnImagesOptions options;
  options.max_memory = max_memory_ << 20;
  options.resume = results_.get();
  options.out_of_time = [&] { return clock.is_over(1.0); };
  RoundedOnImages rounded =
      round_on_images(*fp32.executor, table, chosen, samples, collect, options);
  warn_of(rounded.bad);
  chosen.rounded = std::move(rounded.weights);
  if (!chosen.rounded.empty()) return;
  warning(
      "--weight-rounding: no layer is such that it can be rounded on images within "
      "--max-memory; all are rounded to nearest");
  chosen.rounding = "nearest";
}

void AccuracyOptions::finish() {
  if (results_ != nullptr) results_->remove();
}

void AccuracyOptions::tune(const Model& fp32, const CalibrationTable& table, const Samples& samples,
                           const CollectOptions& collect, const RunOptions& run, const Clock& clock,
                           StaticOptions& chosen) const {
  constexpr double kShare = 0.5;  // of the budget
  AnalyzeOptions options;
  options.preprocess = collect.preprocess;
  options.bad_images = collect.bad_images;
  options.threads = collect.threads;
  options.stop = [&] { return interrupted() || clock.is_over(kShare); };
  ProgressDisplay progress("tune ranges", concat(samples.noun(), "s"), run.progress_style());
  options.progress = progress.callback();
  RangeTuning tuned;
  try {
    tuned = tune_ranges(*fp32.executor, table, chosen, samples, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled || interrupted()) throw;
    note("tuned ranges: half of --budget was too little, the table's stay");
    return;
  }
  // Later steps read all images and report the bad ones.
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
