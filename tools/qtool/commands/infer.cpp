#include "qtool/compare/infer.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/requantize.h"
#include "options/run.h"
#include "options/sequence.h"
#include "overwrite_check.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/image/image.h"
#include "qtool/quantize/quantize.h"
#include "report/diff/tensor_dump.h"
#include "report/inference.h"
#include "report/page/draw_answers.h"
#include "signals.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct InferCommand {
  std::string model;
  std::string int8;
  std::string image;
  std::string inputs;
  SequenceOptions sequence;
  std::string labels;
  std::string draw;
  std::vector<std::string> dump;
  std::string dump_dir;
  std::int64_t top = 5;
  std::int64_t repeat = 20;
  PreprocessOptions preprocess;
  OutputOptions outputs;
  RequantizeOption requantize;
  RunOptions run;
};

// The input tensors of the run. Sets `preprocess` to the preprocessing of the image, if it is one.
std::vector<Tensor> infer_sample(const InferCommand& options, const Models& models,
                                 std::optional<SourcedPreprocess>& preprocess) {
  if (!options.inputs.empty()) {
    const TensorSet tensors = list_input_tensors(options.inputs, models.fp32.executor->graph(), 1,
                                                 options.sequence.reading());
    return load_tensors(tensors, tensors.entries.front());
  }
  preprocess = options.preprocess.choose(stored_preprocess_of(models), models.fp32.loaded);
  declare_input(options.image);
  std::vector<BadImage> bad;
  std::vector<Tensor> sample;
  sample.push_back(
      *load_preprocessed({options.image, -1}, preprocess->preprocess, BadImages::kFail, bad));
  return sample;
}

// Writes tensors from inside the networks to files, for comparisons layer by layer.
void dump(const InferCommand& options, const Models& models, std::span<const Tensor> sample,
          Requantization requantization) {
  const TensorPairs tensors(
      *models.fp32.executor, models.int8_executor(), sample, options.dump,
      {.threads = options.run.threads, .requantization = requantization, .stop = interrupted});
  note(to_text("dump: ", tensors.size(), " tensors of the network, about ",
               to_fixed(static_cast<double>(tensors.bytes()) / (1 << 20), 1), " MiB"));
  require_room(tensors.bytes(), options.dump_dir);
  write_dump(
      options.dump_dir, tensors.run(sample),
      {options.model, options.int8, options.inputs.empty() ? options.image : options.inputs});
  note(to_text("wrote ", options.dump_dir, "/", kDumpIndex, " and the files it names"));
}

void run_infer(InferCommand& options, const Command& command) {
  options.run.apply();
  const Requantization requantization = options.requantize.path();
  options.preprocess.read();
  const AnswerOptions answers = options.outputs.read();
  if (!options.draw.empty()) declare_output(options.draw);
  if (!options.dump_dir.empty()) declare_output_folder(options.dump_dir);
  std::vector<std::string> names;
  if (!options.labels.empty()) names = read_class_names(options.labels);
  const Models models = open_models(options.model, options.int8);
  RequantizeOption::require_effect(command, models);
  std::optional<SourcedPreprocess> preprocess;
  const std::vector<Tensor> sample = infer_sample(options, models, preprocess);
  const auto has_scores = [&] {
    return !answers.boxes && !answers.mask &&
           classes_of(*models.fp32.executor, sample, options.run.threads, requantization) > 0;
  };
  const std::string model = to_text("model '", options.model, "'");
  command.found(Trait::kClassScores, model, has_scores);
  command.found(Trait::kClasses, model,
                [&] { return answers.boxes || answers.mask || has_scores(); });
  ProgressDisplay progress("infer", "runs", options.run.progress_style(), FinalLine::kNone);
  const InferResult result =
      infer(*models.fp32.executor, models.int8_executor(), sample,
            {.threads = options.run.threads,
             .top = options.top,
             .repeat = options.repeat,
             .requantization = requantization,
             .answers = answers,
             .layout = preprocess ? preprocess->preprocess.layout : TensorLayout::kNchw,
             .progress = progress.callback()});
  require_name_per_class(names, result.classes);
  if (!answers.characters.empty()) names = answers.characters;
  options.run.json ? print_result(json_of(result, names, preprocess))
                   : print_text(text_of(result, names, result_columns()));
  if (!options.draw.empty()) {
    const std::string png =
        encode_png(draw_answers(load_image(options.image), preprocess->preprocess, result, names));
    write_outputs(std::array<OutputFile, 1>{{{options.draw, png}}});
  }
  if (!options.dump.empty()) dump(options, models, sample, requantization);
  for (const auto* run : {&result.fp32, result.int8 ? &*result.int8 : nullptr}) {
    if (run == nullptr || run->answered) continue;
    throw Error(
        ErrorCode::kInvalidModel,
        to_text("model '", run == &result.fp32 ? models.fp32.path : models.int8->path,
                "': its outputs for ", options.inputs.empty() ? "image" : "sample", " '",
                options.inputs.empty() ? options.image : options.inputs, "' are NaN or infinite"));
  }
}

}  // namespace

void add_infer(Program& program, Session& session) {
  const auto options = std::make_shared<InferCommand>();
  Command& command = program.add_command(
      "infer", "Run one image or other input through the FP32 and the INT8 model",
      {"qtool infer model.onnx --int8 model.int8.onnx --image photo.jpg "
       "--labels labels.txt",
       "qtool infer model.onnx --inputs tensors/two.npy",
       "qtool infer model.onnx --int8 model.int8.onnx --image photo.jpg "
       "--dump '*' --dump-dir dump"});
  add_model(command, options->model).required();
  command.option("--int8", options->int8, "Quantized model to compare with").placeholder("MODEL");
  command.option("--image", options->image, "Image file").placeholder("FILE");
  add_inputs_option(command, options->inputs);
  options->sequence.add_to(command);
  command.not_with("--inputs", {{"--image", {}}});
  command.option("--labels", options->labels, "File with one class name per line")
      .placeholder("FILE");
  command
      .option("--draw", options->draw,
              "Also draw the answers of both models on the image\n"
              "Boxes of both models are green, those of one alone orange.")
      .placeholder("FILE.png")
      .check([](const std::string& path) {
        return path.ends_with(".png")
                   ? std::string()
                   : to_text("found '", path, "', expected a name that ends with .png");
      });
  command
      .option("--dump", options->dump,
              "Also write this tensor to --dump-dir, as .npy files\n"
              "* and ? match many.")
      .placeholder("TENSOR")
      .one_value_each();
  command.option("--dump-dir", options->dump_dir, "New or empty folder for --dump")
      .placeholder("DIR");
  command.option("--top", options->top, "Classes to list")
      .placeholder("K")
      .check(whole_number(1, 1000000))
      .show_default();
  command.option("--repeat", options->repeat, "Timed runs of each model")
      .placeholder("N")
      .check(whole_number(1, 1000000))
      .show_default();
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  options->outputs.add_to(command);
  command.not_with("--draw", {{"--inputs", {}}});
  command.goes_with("--dump", {{"--dump-dir", {}}});
  command.goes_with("--dump-dir", {{"--dump", {}}});
  for (const char* option : {"--decision", "--text", "--ctc", "--psnr"}) {
    command.goes_with(option, {{"--int8", {}}});
  }
  options->requantize.add_to(command);
  options->run.add_to(command);
  command.show_first({"model", "--int8", "--image", "--inputs", "--labels", "--top", "--preprocess",
                      "--boxes", "--mask", "--draw", "--dump", "--threads", "--json", "--quiet",
                      "--help"});
  for (const char* option : {"--labels", "--draw"}) {
    command.goes_with_files(option, Trait::kClasses);
  }
  command.goes_with_files("--top", Trait::kClassScores);
  command.on_parsed([options, &command, &session] {
    if (options->image.empty() && options->inputs.empty()) {
      throw CommandLineError("--image or --inputs is required");
    }
    session.run = [options, &command] { run_infer(*options, command); };
  });
}

}  // namespace qtool::tool
