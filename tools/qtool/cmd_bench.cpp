#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checks.h"
#include "command.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options_images.h"
#include "options_run.h"
#include "options_shape.h"
#include "progress.h"
#include "qtool/measure/profile.h"
#include "report/render.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct BenchCommand {
  std::string model;
  std::string int8;
  std::vector<std::string> shapes;
  std::string inputs;
  std::optional<std::int64_t> batch;
  std::int64_t repeat = 50;
  RunOptions run;
};

/// Numbers in [-2, 2), the same on every machine. The speed of a network does not depend on its
/// activations, except for denormals and zeros.
Tensor noise(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  if (dtype != DType::kFloat32) return tensor;  // zeros, which are valid indices
  std::uint32_t state = 1;
  for (float& value : tensor.values<float>()) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) * 0x1p-22F - 2.0F;
  }
  return tensor;
}

std::vector<Tensor> sample_of(const BenchCommand& options, const Graph& graph) {
  if (!options.inputs.empty()) {
    const TensorSet tensors = list_input_tensors(options.inputs, graph, 1);
    return load_tensors(tensors, tensors.entries.front());
  }
  const InputShapes shapes = concrete_shapes(graph, options.shapes, options.batch);
  std::vector<Tensor> sample;
  for (const InputSpec& spec : input_specs(graph)) {
    sample.push_back(noise(spec.dtype, shapes.at(spec.name)));
  }
  return sample;
}

void run_bench(BenchCommand& options) {
  options.run.apply();
  const Models models = open_models(options.model, options.int8);
  const std::vector<Tensor> sample = sample_of(options, models.fp32.executor->graph());
  ProgressDisplay progress("bench", "runs", options.run.progress_style());
  ProfileOptions profile_options;
  profile_options.threads = options.run.threads;
  profile_options.repeat = options.repeat;
  profile_options.progress = progress.callback();
  const ProfileResult result =
      profile(*models.fp32.executor, models.int8_executor(), sample, profile_options);
  options.run.json ? print_result(json_of(result)) : print_text(text_of(result, result_columns()));
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  const auto options = std::make_shared<BenchCommand>();
  Command* command = add_command(app, "bench", "Time every step of the FP32 and the INT8 model",
                                 {"qtool bench model.onnx --int8 model.int8.onnx --threads 1"});
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  command->add_option("--int8", options->int8, "Quantized model to compare with")
      ->type_name("MODEL");
  command
      ->add_option("--batch", options->batch, "Images per run (default: as the model says, or 1)")
      ->type_name("N")
      ->check(whole_number(1, 1000000));
  add_shape_option(*command, options->shapes);
  add_inputs_option(*command, options->inputs);
  command->not_with("--batch", {{"--shape", {}}, {"--inputs", {}}});
  command->not_with("--shape", {{"--inputs", {}}});
  command->add_option("--repeat", options->repeat, "Timed runs of each model")
      ->type_name("N")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  options->run.add_to(*command);
  command->show_first({"model", "--int8", "--batch", "--shape", "--inputs", "--repeat", "--threads",
                       "--json", "--quiet", "--help"});
  command->callback([options, &session] { session.run = [options] { run_bench(*options); }; });
}

}  // namespace qtool::tool
