#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/also_time.h"
#include "options/images.h"
#include "options/limits.h"
#include "options/outputs.h"
#include "options/requantize.h"
#include "options/run.h"
#include "overwrite_check.h"
#include "qtool/compare/evaluate.h"
#include "report/evaluation.h"
#include "report/samples.h"
#include "run_evaluation.h"
#include "signals.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct EvalCommand {
  std::string model;
  std::string int8;
  std::string csv;
  std::string flips;
  std::string annotations;
  std::int64_t batch = 1;
  SampleOptions images;
  PreprocessOptions preprocess;
  OutputOptions outputs;
  LimitOptions limits;
  RequantizeOption requantize;
  AlsoTimeOption also_time;
  RunOptions run;
};

// Writes the CSV files, with notes. The result on standard output follows after the notes.
void write_tables(const EvalCommand& options, const EvalResult& result) {
  std::string samples;
  std::string flips;
  std::vector<OutputFile> files;
  if (!options.csv.empty()) files.push_back({options.csv, samples = samples_csv(result)});
  if (!options.flips.empty()) files.push_back({options.flips, flips = flips_csv(result)});
  if (!files.empty()) write_outputs(files);
}

// The names of the detector's classes, from the metadata of FP32 or else of INT8, which has the
// same classes.
std::vector<std::string> stored_class_names(const Models& models) {
  std::vector<std::string> names = models.fp32.class_names();
  return names.empty() && models.int8 ? models.int8->class_names() : names;
}

void run_eval(EvalCommand& options, const Command& command) {
  options.run.apply();
  EvalOptions eval;
  eval.requantization = options.requantize.path();
  options.preprocess.read();
  eval.answers = options.outputs.read();
  for (const std::string& file : {options.csv, options.flips}) {
    if (!file.empty()) declare_output(file);
  }
  std::optional<BoxAnnotations> annotations;
  if (!options.annotations.empty()) {
    annotations = annotations_from_json(read_input(options.annotations, kMaxAnnotationBytes),
                                        options.annotations);
    eval.annotations = &*annotations;
    // The labels are of the boxes and not of the images, whose folders mean nothing.
    if (!options.images.labels.empty()) eval.class_names = read_class_names(options.images.labels);
    options.images.labels.clear();
  }
  const Models models = open_models(options.model, options.int8);
  if (annotations && eval.class_names.empty()) {
    eval.class_names = stored_class_names(models);
    eval.names_from = NamesFrom::kModel;
  }
  const Samples samples = options.images.list(models.fp32.executor->graph());
  RequantizeOption::require_effect(command, models);
  const std::optional<SourcedPreprocess> preprocess = options.preprocess.choose_for(
      options.images, stored_preprocess_of(models), models.fp32.loaded);
  if (preprocess) eval.preprocess = preprocess->preprocess;
  eval.batch = options.batch;
  options.also_time.require_runtime();
  const EvalResult result =
      evaluate_with_progress(command, models, options.images, samples, eval, options.run);
  write_tables(options, result);
  const MeasuredTimes times = options.also_time.measure(
      models, samples, eval.preprocess, options.images.policy(), options.run, options.batch);
  options.run.json ? print_result(json_of(result, preprocess, times.runtimes))
                   : print_text(to_text(text_of(result, result_columns()),
                                        overlap_line(result.overlap, ": not held out"),
                                        text_of(times.runtimes)));
  stop_if_interrupted();
  require_useful(result);
  options.limits.require(result);
  times.require();
}

}  // namespace

void add_eval(Program& program, Session& session) {
  const auto options = std::make_shared<EvalCommand>();
  Command& command = program.add_command(
      "eval", "Measure accuracy and speed of the FP32 and the INT8 model on many images",
      {"qtool eval model.onnx --int8 model.int8.onnx --images photos/eval --labels labels.txt",
       "qtool eval model.onnx --int8 model.int8.onnx --images photos/eval --boxes yolox",
       "qtool eval model.onnx --int8 model.int8.onnx --inputs tensors",
       "qtool eval vad.onnx --int8 vad.int8.onnx --inputs speech.wav --hop 512 --state "
       "state=stateN "
       "--decision 0.5"});
  add_model(command, options->model).required();
  command.option("--int8", options->int8, "Quantized model to compare with").placeholder("MODEL");
  command
      .option("--csv", options->csv,
              "Table of all images to write\n"
              "Top-1 class and margin of both models, label, SQNR of the outputs.")
      .placeholder("FILE");
  command
      .option("--flips", options->flips,
              "Table of the images that change class to write\n"
              "As --csv, ordered by the margin that FP32's class lost.")
      .placeholder("FILE");
  command.goes_with("--flips", {{"--int8", {}}});
  command.goes_with_files("--flips", Trait::kClassScores);
  command.option("--batch", options->batch, "Images per run")
      .placeholder("N")
      .check(whole_number(1, 1000000))
      .show_default();
  options->images.add_to(command, SamplesUse::kMeasure);
  options->images.sequence.add_to(command);
  command.not_with("--state", {{"--batch", {}}});
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  options->outputs.add_to(command);
  command
      .option(
          "--annotations", options->annotations,
          "True boxes of the images: print mAP as COCO does\n"
          "A JSON file in the format of COCO's instances. Its categories are the classes of the "
          "same names, if --labels or the model names the classes, or else by their ids.")
      .placeholder("FILE.json")
      .group("Outputs");
  command.goes_with("--annotations", {{"--boxes", {}}});
  command.not_with("--annotations", {{"--inputs", {}}});
  command.not_with("--flips", {{"--boxes", {}}, {"--mask", {}}});
  for (const char* option : {"--boxes", "--mask", "--decision", "--text", "--ctc", "--psnr"}) {
    command.goes_with(option, {{"--int8", {}}});
  }
  options->limits.add_to(command);
  options->requantize.add_to(command);
  options->also_time.add_to(command);
  command.not_with("--also-time", {{"--requantize", {"gemmlowp", "single"}}});
  options->run.add_to(command);
  command.show_first({"model", "--int8", "--images", "--inputs", "--labels", "--limit",
                      "--preprocess", "--boxes", "--flips", "--threads", "--json", "--quiet",
                      "--help"});
  command.on_parsed([options, &command, &session] {
    options->images.require_given();
    session.run = [options, &command] { run_eval(*options, command); };
  });
}

}  // namespace qtool::tool
