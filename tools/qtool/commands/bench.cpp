#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/also_time.h"
#include "options/images.h"
#include "options/run.h"
#include "options/sequence.h"
#include "options/shape.h"
#include "qtool/compare/profile.h"
#include "report/profile.h"
#include "run_profile.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct BenchCommand {
  std::string model;
  std::string int8;
  ShapeOptions shapes;
  std::string inputs;
  SequenceOptions sequence;
  std::optional<std::int64_t> batch;
  std::int64_t repeat = 50;
  AlsoTimeOption also_time;
  RunOptions run;
};

std::vector<Tensor> bench_sample(const BenchCommand& options, const Graph& graph) {
  if (!options.inputs.empty()) {
    const TensorSet tensors =
        list_input_tensors(options.inputs, graph, 1, options.sequence.reading());
    return load_tensors(tensors, tensors.entries.front());
  }
  return noise_of(graph, options.shapes.concrete(graph, options.batch));
}

void run_bench(BenchCommand& options) {
  options.run.apply();
  const Models models = open_models(options.model, options.int8);
  const std::vector<Tensor> sample = bench_sample(options, models.fp32.executor->graph());
  const ProfileResult result =
      profile_with_progress("bench", models, sample, options.repeat, options.run);
  const std::optional<RuntimeTimes> other = options.also_time.time_again(result, models, sample);
  if (options.run.json) {
    print_result(json_of(result, other ? &*other : nullptr));
    return;
  }
  print_text(text_of(result, result_columns(), options.run.quiet_length()));
  if (other) print_text(text_of(*other));
}

}  // namespace

void add_bench(Program& program, Session& session) {
  const auto options = std::make_shared<BenchCommand>();
  Command& command =
      program.add_command("bench", "Time every step of the FP32 and the INT8 model",
                          {"qtool bench model.onnx --int8 model.int8.onnx --threads 1"});
  add_model(command, options->model).required();
  command.option("--int8", options->int8, "Quantized model to compare with").placeholder("MODEL");
  command.option("--batch", options->batch, "Images per run (default: as the model says, or 1)")
      .placeholder("N")
      .check(whole_number(1, 1000000));
  options->shapes.add_to(command);
  add_inputs_option(command, options->inputs);
  options->sequence.add_to(command);
  command.not_with("--batch", {{"--shape", {}}, {"--inputs", {}}});
  command.not_with("--shape", {{"--inputs", {}}});
  command.not_with("--dim", {{"--inputs", {}}});
  command.option("--repeat", options->repeat, "Timed runs of each model")
      .placeholder("N")
      .check(whole_number(1, 1000000))
      .show_default();
  options->also_time.add_to(command);
  options->run.add_to(command);
  command.show_first({"model", "--int8", "--batch", "--shape", "--dim", "--inputs", "--repeat",
                      "--also-time", "--threads", "--json", "--quiet", "--help"});
  command.on_parsed([options, &session] { session.run = [options] { run_bench(*options); }; });
}

}  // namespace qtool::tool
